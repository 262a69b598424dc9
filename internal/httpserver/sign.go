package httpserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/problem"
)

// Headers of a signed call. The signature is HMAC-SHA-256 by the cluster secret over the lines version, method, path with
// query, SHA-256 of the body, time (ms since the epoch) and nonce.
const (
	headerSignature = "Pondage-Signature"
	headerTime      = "Pondage-Time"
	headerNonce     = "Pondage-Nonce"
)

// signatureVersion is the first signed line; another algorithm gets another one.
const signatureVersion = "pondage-v1"

// signatureWindow is how far the signer's idea of the verifier's clock may be off. Clocks themselves may differ by any
// amount (T58): a refusal carries the verifier's time, and the signer signs again with it (signclient.go).
const signatureWindow = 30 * time.Second

func signature(secret []byte, method, target string, body []byte, ms, nonce string) string {
	digest := sha256.Sum256(body)
	mac := hmac.New(sha256.New, secret)
	for _, line := range []string{signatureVersion, method, target, hex.EncodeToString(digest[:]), ms, nonce} {
		mac.Write([]byte(line + "\n")) // never fails
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// verifier checks signatures and remembers nonces, so that a call that was overheard cannot be repeated.
type verifier struct {
	secret []byte
	now    func() time.Time

	mu   sync.Mutex
	seen map[string]time.Time // nonce → when it may be forgotten
	tidy time.Time            // when seen is next swept
}

// newVerifier returns nil without a secret.
func newVerifier(secret []byte, now func() time.Time) *verifier {
	if len(secret) == 0 {
		return nil
	}
	return &verifier{secret: secret, now: now, seen: map[string]time.Time{}}
}

func (v *verifier) verify(r *http.Request, body []byte) error {
	ms, nonce := r.Header.Get(headerTime), r.Header.Get(headerNonce)
	want := signature(v.secret, r.Method, r.URL.RequestURI(), body, ms, nonce)
	if !hmac.Equal([]byte(want), []byte(r.Header.Get(headerSignature))) {
		return problem.New(problem.CodeBadSignature, "the call is not signed by the secret of this cluster")
	}
	now := v.now()
	n, err := strconv.ParseInt(ms, 10, 64)
	if off := now.Sub(time.UnixMilli(n)).Abs(); err != nil || off > signatureWindow {
		return &staleSignature{now: now, problem: problem.New(problem.CodeBadSignature, "the call was signed for a time %s away", off)}
	}
	if !v.first(nonce, now) {
		return problem.New(problem.CodeBadSignature, "the call was made before")
	}
	return nil
}

// staleSignature is a right signature for another time than the verifier's.
type staleSignature struct {
	now     time.Time
	problem *problem.Error
}

func (e *staleSignature) Error() string { return e.problem.Error() }

func (e *staleSignature) Unwrap() error { return e.problem }

// first tells whether the nonce is new, and remembers it for as long as its signature could be taken again.
func (v *verifier) first(nonce string, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now.After(v.tidy) || v.tidy.Sub(now) > 2*signatureWindow { // the latter: the clock went back
		for n, until := range v.seen {
			if now.After(until) {
				delete(v.seen, n)
			}
		}
		v.tidy = now.Add(signatureWindow)
	}
	if _, again := v.seen[nonce]; again || nonce == "" {
		return false
	}
	v.seen[nonce] = now.Add(2 * signatureWindow)
	return true
}
