package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Headers of a request, those of the Standard Webhooks.
const (
	HeaderID        = "webhook-id"        // of the request: the same for the same events
	HeaderTimestamp = "webhook-timestamp" // when it was sent, seconds since the epoch
	HeaderSignature = "webhook-signature" // "v1," and the HMAC-SHA256 of "id.timestamp.body" in base64
)

// secretPrefix is what a secret begins with that is written in base64.
const secretPrefix = "whsec_"

// maxAnswer is how much of an answer is read, so that the connection can be used again.
const maxAnswer = 64 << 10

// Config is what a Hook is made of.
type Config struct {
	Cluster, Stream string // in the body
	URL             string
	Secret          string // "": requests are not signed
	Timeout         time.Duration
	Transport       http.RoundTripper
	// Hosts are the only ones allowed: names, or *.name for all below it; with a port only that one. Empty: every host.
	Hosts []string
}

// ErrNotAllowed says that a webhook's host is none of those allowed.
var ErrNotAllowed = errors.New("the node's webhook_hosts do not have the webhook's host")

// Hook is a webhook.
type Hook struct {
	cfg    Config
	head   []byte // of the body
	key    []byte
	client *http.Client
}

// New returns a hook. Errors: ErrNotAllowed; a URL or a secret that is none.
func New(c Config) (*Hook, error) {
	u, err := url.Parse(c.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, errors.New("the webhook's address is not an absolute http or https URL")
	}
	if !allowed(c.Hosts, u) {
		return nil, ErrNotAllowed
	}
	h := &Hook{cfg: c, key: []byte(c.Secret)}
	if coded, ok := strings.CutPrefix(c.Secret, secretPrefix); ok {
		if h.key, err = base64.StdEncoding.DecodeString(coded); err != nil {
			return nil, fmt.Errorf("the webhook's secret begins with %s and is not base64 behind it", secretPrefix)
		}
	}
	names, err := json.Marshal(struct {
		Cluster string `json:"cluster"`
		Stream  string `json:"stream"`
	}{c.Cluster, c.Stream})
	if err != nil {
		return nil, fmt.Errorf("the webhook's body: %w", err)
	}
	h.head = append(bytes.TrimSuffix(names, []byte("}")), `,"events":[`...)
	h.client = &http.Client{
		Transport: c.Transport, Timeout: c.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return h, nil
}

func allowed(hosts []string, u *url.URL) bool {
	for _, h := range hosts {
		name, port, hasPort := strings.Cut(h, ":")
		if hasPort && port != portOf(u) {
			continue
		}
		host := strings.ToLower(u.Hostname())
		if below, ok := strings.CutPrefix(name, "*"); ok && strings.HasSuffix(host, below) || host == name {
			return true
		}
	}
	return len(hosts) == 0
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// Refused says that the receiver will never take the events.
type Refused struct{ Status int }

func (r *Refused) Error() string {
	return fmt.Sprintf("the webhook answers %d: it refuses this", r.Status)
}

// Send posts events (Form.Append), whose ids are given. It returns when the receiver has them. Errors: *Refused; any other
// may be cured by sending them again.
func (h *Hook) Send(ctx context.Context, ids []string, events [][]byte) error {
	body := append(append(bytes.Clone(h.head), bytes.Join(events, []byte{','})...), "]}"...)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the webhook's address is not a URL")
	}
	id, now := requestID(ids), strconv.FormatInt(time.Now().Unix(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "pondage")
	request.Header.Set(HeaderID, id)
	request.Header.Set(HeaderTimestamp, now)
	if len(h.key) > 0 {
		request.Header.Set(HeaderSignature, "v1,"+sign(h.key, id, now, body))
	}
	answer, err := h.client.Do(request)
	if err != nil {
		var withURL *url.Error
		if errors.As(err, &withURL) {
			err = withURL.Err
		}
		return fmt.Errorf("the webhook does not answer: %w", err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // what it says has no meaning
	return meaning(answer.StatusCode)
}

// meaning is what an answer's status says of the events.
func meaning(status int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		return fmt.Errorf("the webhook answers %d: redirects are not followed", status)
	case status == http.StatusRequestEntityTooLarge, status == http.StatusUnprocessableEntity:
		return &Refused{Status: status} // not 400: receivers say that of a signature as well, and a secret can be mended
	}
	return fmt.Errorf("the webhook answers %d", status)
}

// requestID is that of the event, or follows from those of all.
func requestID(ids []string) string {
	if len(ids) == 1 {
		return ids[0]
	}
	sum := sha256.Sum256([]byte(strings.Join(ids, " ")))
	return fmt.Sprintf("%x", sum[:idBytes])
}

func sign(key []byte, id, now string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, now)
	mac.Write(body) // never fails
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
