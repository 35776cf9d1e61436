document.documentElement.classList.add("js");
document.querySelectorAll("th").forEach(th => th.addEventListener("click", () => {
  const body = th.closest("table").tBodies[0], at = th.cellIndex, down = !th.classList.contains("down");
  const key = row => { const c = row.cells[at]; return "v" in c.dataset ? Number(c.dataset.v) : c.textContent; };
  const order = (a, b) => { const x = key(a), y = key(b); return x < y ? -1 : x > y ? 1 : 0; };
  th.parentNode.querySelectorAll("th").forEach(other => other.classList.remove("up", "down"));
  th.classList.add(down ? "down" : "up");
  [...body.rows].sort((a, b) => down ? order(b, a) : order(a, b)).forEach(row => body.append(row));
}));
