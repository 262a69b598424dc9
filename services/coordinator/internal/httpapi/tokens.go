package httpapi

import (
	"context"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// ListTokens lists the API tokens.
func (h *handler) ListTokens(ctx context.Context, _ api.ListTokensRequestObject) (api.ListTokensResponseObject, error) {
	tokens, err := h.App.ListTokens(ctx)
	if err != nil {
		return nil, err
	}
	return api.ListTokens200JSONResponse{Items: convert(tokens, func(t control.Token) api.Token {
		return api.Token{Name: t.Name, Role: string(t.Role), CreatedAt: t.Created}
	})}, nil
}

// CreateToken makes an API token.
func (h *handler) CreateToken(ctx context.Context, r api.CreateTokenRequestObject) (api.CreateTokenResponseObject, error) {
	req, err := request(ctx, r.Params.IdempotencyKey, nil)
	if err != nil {
		return nil, err
	}
	text, err := h.App.CreateToken(ctx, req, r.Body.Name, control.Role(r.Body.Role))
	if err != nil {
		return nil, err
	}
	return api.CreateToken201JSONResponse{Name: r.Body.Name, Role: string(r.Body.Role), Token: text}, nil
}

// DeleteToken deletes an API token.
func (h *handler) DeleteToken(ctx context.Context, r api.DeleteTokenRequestObject) (api.DeleteTokenResponseObject, error) {
	if err := h.App.DeleteToken(ctx, r.Name); err != nil {
		return nil, err
	}
	return api.DeleteToken204Response{}, nil
}

// CheckToken tells a worker whom a token belongs to.
func (h *handler) CheckToken(ctx context.Context, r api.CheckTokenRequestObject) (api.CheckTokenResponseObject, error) {
	users := h.Users
	if users == nil {
		users = Authenticator(h.App)
	}
	p, err := users(ctx, r.Body.Token)
	if err != nil {
		return nil, err
	}
	return api.CheckToken200JSONResponse{Name: p.Name, Role: p.Role.String()}, nil
}
