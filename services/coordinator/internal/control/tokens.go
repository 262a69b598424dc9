package control

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"

	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// tokenPrefix lets scanners find a leaked token.
const tokenPrefix = "pondage_"

// Roles lists the roles, each including the one before.
var Roles = []Role{RoleViewer, RoleEditor, RoleAdmin}

// CreateToken makes a token and returns its text.
func (s *Service) CreateToken(ctx context.Context, r Request, name string, role Role) (string, error) {
	if !slices.Contains(Roles, role) {
		return "", errorf(CodeBadRole, "role %q: want one of %v", role, Roles)
	}
	text := tokenPrefix + rand.Text()
	if r.IdempotencyKey != "" {
		text = tokenPrefix + s.repeatable(r, name, role)
	}
	hash := sha256.Sum256([]byte(text))
	// What is remembered is the hash, as with the token: nothing at rest tells a text.
	made, err := once(ctx, s, operation{r, "create token", []byte(name + "\x00" + string(role))}, func(ctx context.Context, tx store.Tx) ([]byte, error) {
		return hash[:], tx.InsertToken(ctx, store.Token{Name: name, Hash: hash, Role: string(role)})
	})
	if err != nil {
		return "", err
	}
	if !bytes.Equal(made, hash[:]) {
		return "", errorf(CodeTokenExists, "the token %q was made by the first request with this Idempotency-Key; the cluster's secret has changed since, and its text cannot be shown again", name).
			hinted("delete it, and make it anew with another key")
	}
	return text, nil
}

// repeatable is the random part of a token that a repetition of its request must find again: it follows from the request,
// and nobody can tell it without the cluster's secret.
func (s *Service) repeatable(r Request, name string, role Role) string {
	mac := hmac.New(sha256.New, s.config.Secret)
	for _, part := range []string{"token", r.Principal, r.IdempotencyKey, name, string(role)} {
		fmt.Fprintf(mac, "%d %s", len(part), part) // with lengths: no two requests have the same text
	}
	return base32.StdEncoding.EncodeToString(mac.Sum(nil))[:len(rand.Text())]
}

// ListTokens lists the tokens by name.
func (s *Service) ListTokens(ctx context.Context) ([]Token, error) {
	var out []Token
	err := s.Store.View(ctx, func(r store.Reader) error {
		rows, err := r.Tokens(ctx)
		for _, t := range rows {
			out = append(out, Token{Name: t.Name, Role: Role(t.Role), Created: t.Created})
		}
		return err
	})
	return out, s.failure(err, CodeBusy)
}

// DeleteToken removes a token; it stops working at once.
func (s *Service) DeleteToken(ctx context.Context, name string) error {
	err := s.Store.Update(ctx, store.AnyTerm, func(tx store.Tx) error { return tx.DeleteToken(ctx, name) })
	if errors.Is(err, store.ErrNotFound) {
		return errorf(CodeTokenUnknown, "there is no token named %q", name)
	}
	return s.failure(err, CodeBusy)
}

// Authenticate looks a token up by its hash: the comparison takes no time that tells about the text.
func (s *Service) Authenticate(ctx context.Context, token string) (Principal, error) {
	var t store.Token
	err := s.Store.View(ctx, func(r store.Reader) (err error) {
		t, err = r.Token(ctx, sha256.Sum256([]byte(token)))
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return Principal{}, errorf(CodeUnauthenticated, "the token is not known")
	}
	return Principal{Name: t.Name, Role: Role(t.Role)}, s.failure(err, CodeBusy)
}
