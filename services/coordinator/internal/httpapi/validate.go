package httpapi

import (
	"context"
	"errors"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/services/coordinator/internal/control"
	"github.com/pondage/pondage/services/coordinator/internal/language"
)

// understand understands the stream of a statement over its source as it is now.
func (h *handler) understand(ctx context.Context, st language.Statement) (language.Stream, error) {
	source, err := h.sourceOf(ctx, st)
	if err != nil {
		return language.Stream{}, err
	}
	return h.Language.Understand(st, source)
}

// sourceOf is the spec of a statement's source as it is now. An unknown source is a fault of the statement.
func (h *handler) sourceOf(ctx context.Context, st language.Statement) ([]byte, error) {
	source, err := h.App.GetSource(ctx, st.Source)
	if hasCode(err, control.CodeSourceUnknown) {
		fault := invalid.New(control.CodeSourceUnknown, "/source", "there is no source named %q", st.Source)
		fault.Details[0].Hint = "create the source first"
		return nil, st.Locate(fault)
	}
	return source.Spec, err
}

// Validate checks a stream. What is wrong with it is the answer, not an error.
func (h *handler) Validate(ctx context.Context, r api.ValidateRequestObject) (api.ValidateResponseObject, error) {
	if (r.Body.SQL == nil) == (len(r.Body.Spec) == 0) {
		return nil, problem.New(problem.CodeInvalidBody, "give either sql or spec")
	}
	answer := api.Validation{Errors: []common.Fault{}, Schema: []api.ResultColumn{}, NaturalKey: []string{}}
	err := h.validate(ctx, r.Body, &answer)
	if answer.Errors, err = faultDocs(err); err != nil {
		return nil, err
	}
	answer.Valid = len(answer.Errors) == 0
	return api.Validate200JSONResponse(answer), nil
}

func (h *handler) validate(ctx context.Context, body *api.ValidateRequest, answer *api.Validation) error {
	st, err := h.statement(body)
	if err != nil {
		return err
	}
	if st.Kind == language.KindSource {
		answer.Spec, err = h.Language.Source(st.Doc)
		return st.Locate(err)
	}
	source, err := h.sourceOf(ctx, st)
	if err != nil {
		return err
	}
	understood, err := h.Language.Understand(st, source)
	if err != nil {
		return err
	}
	plan := understood.Explain()
	answer.Spec, answer.Plan = understood.Spec(), &plan
	answer.Schema, answer.NaturalKey = convert(understood.Columns(), columnDoc), convert(understood.NaturalKey(), same)
	if httpserver.PrincipalOf(ctx).Role < httpserver.RoleEditor {
		return nil // who may not make the stream does not make us ask the databases that it names
	}
	return st.Locate(shapeFault(h.App.CheckOutputs(ctx, source, understood.Spec())))
}

// shapeFault makes a target that is there with another shape a fault of the stream that names it.
func shapeFault(err error) error {
	var e *control.Error
	if !errors.As(err, &e) || e.Code != control.CodeTargetMismatch {
		return err
	}
	fault := invalid.New(e.Code, "/outputs/postgres/table", "%s", e.Message)
	fault.Details[0].Hint = e.Hint
	return fault
}

// statement reads what is to be checked. A statement that makes nothing has nothing to check beyond its syntax.
func (h *handler) statement(body *api.ValidateRequest) (language.Statement, error) {
	if body.SQL == nil {
		return h.Language.ParseSpec(body.Spec)
	}
	st, err := h.Language.Parse(*body.SQL)
	if err == nil && st.Doc == nil {
		err = problem.New(problem.CodeInvalidBody, "%s is a right statement, but makes nothing: give CREATE STREAM, CREATE SOURCE or EXPLAIN", st.Action)
	}
	return st, err
}

// ValidateSource checks a source, or proposes one.
func (h *handler) ValidateSource(_ context.Context, r api.ValidateSourceRequestObject) (api.ValidateSourceResponseObject, error) {
	if (r.Body.Sample == nil) == (len(r.Body.Spec) == 0) {
		return nil, problem.New(problem.CodeInvalidBody, "give either spec or sample")
	}
	answer := api.SourceValidation{Notes: []string{}}
	var err error
	if r.Body.Sample != nil {
		var notes []string
		if answer.Spec, notes, err = h.Language.Infer([]byte(*r.Body.Sample)); err == nil {
			_, err = h.Language.Source(answer.Spec) // what the sample could not tell is said like any fault
		}
		answer.Notes = convert(notes, same)
	} else {
		answer.Spec, err = h.Language.Source(r.Body.Spec)
	}
	if answer.Errors, err = faultDocs(err); err != nil {
		return nil, err
	}
	answer.Valid = len(answer.Errors) == 0
	return api.ValidateSource200JSONResponse(answer), nil
}

// faultDocs takes the faults of an input out of an error; any other error stays one.
func faultDocs(err error) ([]common.Fault, error) {
	var faults *invalid.Error
	if err == nil || !errors.As(err, &faults) {
		return []common.Fault{}, err
	}
	return convert(problem.Faults(faults), func(f problem.Fault) common.Fault {
		out := common.Fault{Code: string(f.Code), Pointer: f.Pointer, Detail: f.Detail, Hint: f.Hint}
		if f.Span != nil {
			out.Span = &common.Span{Offset: f.Span.Offset, Length: f.Span.Length, Line: f.Span.Line, Column: f.Span.Column}
		}
		return out
	}), nil
}
