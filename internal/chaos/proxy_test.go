package chaos

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"
)

// echo answers each line with itself and notes it.
func echo(t *testing.T) (address string, heard chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	heard = make(chan string, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				lines := bufio.NewReader(c)
				for {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					heard <- line
					if _, err := c.Write([]byte(line)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), heard
}

// dialled is a connection through a proxy to an echo.
func dialled(t *testing.T) (*proxy, net.Conn, *bufio.Reader, chan string) {
	t.Helper()
	target, heard := echo(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := startProxy(t.Context(), l, target)
	c, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return p, c, bufio.NewReader(c), heard
}

// say sends a line and returns the answer, or the error instead of one.
func say(c net.Conn, answers *bufio.Reader, line string) (string, error) {
	if _, err := c.Write([]byte(line)); err != nil {
		return "", err
	}
	return answers.ReadString('\n')
}

const aCommit = "COMMIT\x00\n"

func TestProxyPassesAndCuts(t *testing.T) {
	t.Parallel()
	p, c, answers, _ := dialled(t)
	if got, err := say(c, answers, "hello\n"); got != "hello\n" {
		t.Fatalf("%q, %v", got, err)
	}
	p.cut()
	if got, err := say(c, answers, "hello\n"); err == nil {
		t.Errorf("a connection that was cut answers %q", got)
	}
}

func TestProxyHoldsUntilHealed(t *testing.T) {
	t.Parallel()
	p, c, answers, heard := dialled(t)
	p.set(HowHold)
	if _, err := c.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	select {
	case line := <-heard:
		t.Errorf("%q passed", line)
	case <-time.After(50 * time.Millisecond):
	}
	p.set("")
	if got, err := answers.ReadString('\n'); got != "hello\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestProxyLosesCommits: the request, or the answer; nothing else.
func TestProxyLosesCommits(t *testing.T) {
	t.Parallel()
	for how, arrives := range map[How]bool{HowLoseRequest: false, HowLoseAnswer: true} {
		p, c, answers, heard := dialled(t)
		p.set(how)
		if got, err := say(c, answers, "insert\n"); got != "insert\n" {
			t.Fatalf("%s: %q, %v", how, got, err)
		}
		<-heard
		time.AfterFunc(50*time.Millisecond, func() { p.set("") })
		if got, err := say(c, answers, aCommit); err == nil {
			t.Errorf("%s: answered %q", how, got)
		}
		select {
		case line := <-heard:
			if !arrives || !strings.HasPrefix(line, "COMMIT") {
				t.Errorf("%s: heard %q", how, line)
			}
		default:
			if arrives {
				t.Errorf("%s: it has not arrived", how)
			}
		}
	}
}
