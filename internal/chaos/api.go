package chaos

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/pondage/pondage/internal/api/coordinator"
)

// api asks the coordinators as a user would, whichever of them answers.
type api struct {
	urls  []string
	token string // file
	http  *http.Client
}

// askWithin bounds one question to one coordinator: it may be stopped.
const askWithin = 5 * time.Second

func newAPI(urls []string, token string) *api {
	// No connection is kept: one to a process that is stopped would be used again and again.
	return &api{urls: urls, token: token, http: &http.Client{Timeout: askWithin, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// refusal is an answer that says no.
type refusal struct {
	status int
	body   string
	code   string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s", r.status, r.body) }

func (a *api) get(ctx context.Context, path string, into any) error {
	return a.ask(ctx, http.MethodGet, path, nil, into)
}

// create posts an object; one that is there already is fine, for the answer to an earlier attempt may be lost.
func (a *api) create(ctx context.Context, path string, object any) error {
	err := a.ask(ctx, http.MethodPost, path, object, nil)
	var no *refusal
	if errors.As(err, &no) && no.status == http.StatusConflict {
		return nil
	}
	return err
}

// ask asks one coordinator after the other until one answers.
func (a *api) ask(ctx context.Context, method, path string, object, into any) error {
	var body []byte
	if object != nil {
		var err error
		if body, err = json.Marshal(object); err != nil {
			return err
		}
	}
	var errs []error
	key := rand.Text()
	for _, url := range a.urls {
		err := a.once(ctx, method, url+path, key, body, into)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("%s %s: %w", method, path, errors.Join(errs...))
}

// led asks the coordinator that leads first: only it hears how far the tasks are.
func (a *api) led(ctx context.Context) *api {
	var term int64
	out := *a
	for _, url := range a.urls {
		var cluster coordinator.Cluster
		if a.once(ctx, http.MethodGet, url+"/v1/cluster", "", nil, &cluster) != nil {
			continue
		}
		// One that was stopped may still think that it leads; its term is lower.
		if l := cluster.Leader; l != nil && l.Self && int64(l.Term) > term {
			term = int64(l.Term)
			out.urls = append([]string{url}, a.urls...)
		}
	}
	return &out
}

func (a *api) once(ctx context.Context, method, url, key string, body []byte, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	token, err := os.ReadFile(a.token)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+string(token))
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := a.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		no := &refusal{status: answer.StatusCode, body: string(text)}
		var problem struct{ Code string }
		if json.Unmarshal(text, &problem) == nil { // no document has no code
			no.code = problem.Code
		}
		return no
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// patience is how much longer than on an idle machine things may take.
type patience struct{ scale float64 }

// waitBase is how long things may take that take seconds.
const waitBase = 90 * time.Second

// of stretches a time.
func (p patience) of(d time.Duration) time.Duration { return time.Duration(float64(d) * p.scale) }

// until asks until there is nothing missing. What was missing last is the error.
func (p patience) until(ctx context.Context, what string, missing func(context.Context) error) error {
	return p.within(ctx, waitBase, what, missing)
}

func (p patience) within(ctx context.Context, d time.Duration, what string, missing func(context.Context) error) error {
	const every = 100 * time.Millisecond
	deadline := time.Now().Add(p.of(d))
	for {
		err := missing(ctx)
		if err == nil {
			return nil
		}
		var never *hopeless
		if errors.As(err, &never) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %s: %w", what, p.of(d), err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, errors.Join(context.Cause(ctx), err))
		case <-time.After(every):
		}
	}
}

// hopeless is an error that waiting does not mend.
type hopeless struct{ error }

func (h *hopeless) Unwrap() error { return h.error }
