package control

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// tokenPrefix lets scanners find a leaked token.
const tokenPrefix = "pondage_"

// Roles lists the roles, each including the one before.
var Roles = []Role{RoleViewer, RoleEditor, RoleAdmin}

// CreateToken makes a token and returns its text.
func (s *Service) CreateToken(ctx context.Context, name string, role Role) (string, error) {
	if !slices.Contains(Roles, role) {
		return "", errorf(CodeBadRole, "role %q: want one of %v", role, Roles)
	}
	text := tokenPrefix + rand.Text()
	err := s.Store.Update(ctx, store.AnyTerm, func(tx store.Tx) error {
		return tx.InsertToken(ctx, store.Token{Name: name, Hash: sha256.Sum256([]byte(text)), Role: string(role)})
	})
	if err != nil {
		return "", s.failure(err, CodeBusy)
	}
	return text, nil
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
