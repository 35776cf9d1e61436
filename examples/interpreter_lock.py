"""One thread computes while another answers requests: each answer waits for the interpreter lock.

    unc run -- python3 examples/interpreter_lock.py 0.005

The argument is the switch interval in seconds.
"""
import socket, sys, threading

sys.setswitchinterval(float(sys.argv[1]))
requests = 400
client, server = socket.socketpair()
done = threading.Event()

def compute():
    number = 1
    while not done.is_set():
        number = number * 1664525 + 1013904223 & 0xFFFFFFFF

def answer():
    for _ in range(requests):
        server.sendall(server.recv(16))

threading.Thread(target=compute).start()
threading.Thread(target=answer).start()
for _ in range(requests):
    client.sendall(b"request")
    client.recv(16)
done.set()
