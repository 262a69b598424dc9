package spec

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
)

// Webhook is an HTTP address that is told of the windows of a stream.
type Webhook struct {
	URL WebhookURL `spec:"url,required"`
	// On lists the window events that are told; empty: WindowClose.
	On []string `spec:"on"`
	// Secret signs the requests; absent: they are not signed.
	Secret *SecretRef `spec:"secret"`
	// Timeout bounds one request.
	Timeout *Duration `spec:"timeout"`
	// MaxEvents bounds the events of one request.
	MaxEvents *int64 `spec:"max_events"`
}

// The window events.
const (
	WindowOpen  = "open"
	WindowClose = "close"
)

// WebhookURL is an address, or where to find one that holds a secret. One of both is set.
type WebhookURL struct {
	Text string
	Ref  *SecretRef
}

func (u *WebhookURL) decode(d *decoder, at string, n *node) {
	if n.kind == nodeObject {
		u.Ref = &SecretRef{}
		u.Ref.decode(d, at, n)
		return
	}
	u.Text, _ = d.text(at, n)
}

func (u WebhookURL) encode() *node {
	if u.Ref != nil {
		return encodeValue(reflect.ValueOf(u.Ref))
	}
	return newString(u.Text)
}

const (
	// maxWebhookEvents keeps the body of a request at some MB.
	maxWebhookEvents = 1000
	// maxWebhookTimeoutMs is the time that checkpoints have by default: a longer request would fail them.
	maxWebhookTimeoutMs = 60_000
)

func (d *decoder) checkWebhook(at string, w *Webhook) {
	if w.URL.Text != "" {
		d.checkWebhookURL(at+"/url", w.URL.Text)
	}
	for i, e := range w.On {
		checkWord(d, fmt.Sprintf("%s/on/%d", at, i), e, []string{WindowOpen, WindowClose})
		if slices.Contains(w.On[:i], e) {
			d.fault(CodeDuplicateName, fmt.Sprintf("%s/on/%d", at, i), "", "%q is given twice", e)
		}
	}
	d.checkElapsed(at+"/timeout", w.Timeout)
	if w.Timeout != nil {
		if ms, ok := w.Timeout.Millis(); ok && (ms == 0 || ms > maxWebhookTimeoutMs) {
			d.fault(CodeInvalidValue, at+"/timeout", "", "want 1ms to 60s, found %s", w.Timeout)
		}
	}
	if n := w.MaxEvents; n != nil && (*n < 1 || *n > maxWebhookEvents) {
		d.fault(CodeInvalidValue, at+"/max_events", "", "want 1 to %d, found %d", maxWebhookEvents, *n)
	}
}

// checkWebhookURL does not show the address where it may hold a secret: error texts are logged.
func (d *decoder) checkWebhookURL(at, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.Fragment != "":
		d.fault(CodeInvalidValue, at, "for example https://example.com/hook", "the address is not an absolute http or https URL")
	case u.User != nil:
		d.fault(CodeSecretInSpec, at, "write the whole URL into a secret: {from: env, name: VARIABLE} or {from: file, name: path}", "the address holds a user or password")
	}
}
