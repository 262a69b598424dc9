package chaos

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// proxy stands before a port and can cut, hold and slow down what passes.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	mode  How           // "" passes
	heal  chan struct{} // closed when the present mode ends
	conns map[net.Conn]struct{}
}

// slowness is what a chunk waits for while connections are slow.
const slowness = 100 * time.Millisecond

// startProxy passes what comes to a listener, until the context ends.
func startProxy(ctx context.Context, l net.Listener, target string) *proxy {
	p := &proxy{listener: l, target: target, heal: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	context.AfterFunc(ctx, func() {
		_ = l.Close()
		p.set("")
		p.cut()
	})
	go p.accept()
	return p
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(c)
	}
}

func (p *proxy) serve(client net.Conn) {
	defer p.forget(client)
	p.remember(client)
	if mode, heal := p.now(); mode == HowHold {
		<-heal
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		reset(client)
		return
	}
	p.remember(server)
	defer p.forget(server)
	done := make(chan struct{}, 2)
	l := &link{proxy: p}
	go func() { copyChunks(server, client, l.ask); done <- struct{}{} }()
	go func() { copyChunks(client, server, l.answer); done <- struct{}{} }()
	<-done
	reset(client)
	reset(server)
	<-done
}

// copyChunks gives what comes to pass until an end closes or pass says that the connection is over.
func copyChunks(to io.Writer, from io.Reader, pass func(chunk []byte, to io.Writer) bool) {
	const most = 64 << 10
	buf := make([]byte, most)
	for {
		n, err := from.Read(buf)
		if n > 0 && !pass(buf[:n], to) || err != nil {
			return
		}
	}
}

// link is one connection through the proxy.
type link struct {
	*proxy
	// lost: a COMMIT has gone through, and its answer is to be lost.
	lost atomic.Bool
}

// commit is how a client of Postgres asks for one: a simple query.
var commit = []byte("commit\x00")

// ask passes what the client says.
func (l *link) ask(chunk []byte, to io.Writer) bool {
	mode, heal := l.now()
	isCommit := bytes.Contains(bytes.ToLower(chunk), commit)
	switch {
	case mode == HowLoseRequest && isCommit:
		<-heal
		return false
	case mode == HowLoseAnswer && isCommit:
		l.lost.Store(true) // before the answer can come
	default:
		l.wait(mode, heal)
	}
	_, err := to.Write(chunk)
	return err == nil
}

// answer passes what the server says.
func (l *link) answer(chunk []byte, to io.Writer) bool {
	mode, heal := l.now()
	if l.lost.Load() {
		<-heal
		return false
	}
	l.wait(mode, heal)
	_, err := to.Write(chunk)
	return err == nil
}

func (l *link) wait(mode How, heal <-chan struct{}) {
	switch mode {
	case HowHold:
		<-heal
	case HowDelay:
		time.Sleep(slowness)
	}
}

func (p *proxy) now() (How, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode, p.heal
}

// set begins a mode and ends the one before; "" passes everything.
func (p *proxy) set(mode How) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	close(p.heal)
	p.heal = make(chan struct{})
}

// cut ends all connections without a word.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		reset(c)
	}
}

func (p *proxy) remember(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
}

func (p *proxy) forget(c net.Conn) {
	reset(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// reset closes a connection so that the other end sees an error, not an end.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}
