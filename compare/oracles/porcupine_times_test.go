// Times Porcupine on the histories of its own tests, and on those that `compare -- histories` made. Belongs into a checkout of
// Porcupine, whose tests have the models and the readers that this uses; compare/README.md says how.
package porcupine

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func cpuNanoseconds() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func TestTimes(t *testing.T) {
	var files []string
	for _, pattern := range strings.Fields(os.Getenv("HISTORIES")) {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		var events []Event
		model := etcdModel
		if strings.HasSuffix(file, ".log") {
			events = parseJepsenLog(file)
		} else {
			events = parseKvLog(file)
			model = kvModel
		}
		runtime.GC()
		times, verdict := 0, false
		wall, cpu := time.Now(), cpuNanoseconds()
		for times == 0 || (times < 100 && time.Since(wall) < 20*time.Millisecond) {
			verdict = CheckEvents(model, events)
			times++
		}
		wallEach := time.Since(wall).Nanoseconds() / int64(times)
		cpuEach := (cpuNanoseconds() - cpu) / int64(times)
		fmt.Printf("TIME %s %t %d %d\n", file, verdict, wallEach, cpuEach)
	}
}
