package devstack

import (
	"net"
	"strconv"
)

// loopback is the only address that the stack listens on.
const loopback = "127.0.0.1"

// FreePort returns a TCP port of 127.0.0.1 that is free at the moment. Somebody else may take it before it is used.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, explain("find a free port on", loopback, err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// checkPort tells, by an explained error, whether the port can be listened on.
func checkPort(port int) error {
	address := net.JoinHostPort(loopback, strconv.Itoa(port))
	l, err := net.Listen("tcp", address)
	if err != nil {
		return explain("listen on", address, err)
	}
	return l.Close()
}
