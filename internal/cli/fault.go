package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/specfile"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/problem"
)

// Codes of errors that no service answers with. They are explained in docs/cli.md.
const (
	codeUsage       problem.Code = "wrong_usage"
	codeFailed      problem.Code = "command_failed"
	codeInterrupted problem.Code = "interrupted"
	codeRefused     problem.Code = "cannot_connect"
)

// documents turns an error into problem documents, one for each of several errors that were joined.
func documents(err error, cmd *cobra.Command) []*problem.Document {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*problem.Document
		for _, one := range many.Unwrap() {
			all = append(all, documents(one, cmd)...)
		}
		return all
	}
	return []*problem.Document{document(err, cmd)}
}

func document(err error, cmd *cobra.Command) *problem.Document {
	var answered *client.Error
	var inFile *specfile.Error
	var faults *invalid.Error
	var broker *kafka.Error
	var refused *connect.Refusal
	switch {
	case isUsage(err):
		return usageDocument(err, cmd)
	case errors.As(err, &inFile):
		return inFile.Document()
	case errors.As(err, &answered):
		return &answered.Doc
	case errors.As(err, &faults):
		return problem.From(faults)
	case errors.As(err, &refused): // before its cause
		return &problem.Document{Type: "about:blank", Title: "A database or broker cannot be used", Code: codeRefused, Detail: refused.Error(), Hint: refused.Hint}
	case errors.As(err, &broker):
		return problem.From(&problem.Error{Code: problem.Code(broker.Code), Detail: broker.Error(), Hint: remedy(problem.Code(broker.Code)), Retryable: broker.Transient()})
	case errors.Is(err, context.Canceled):
		return &problem.Document{Type: "about:blank", Title: "The command was interrupted", Code: codeInterrupted, Detail: "interrupted", Retryable: true}
	}
	return &problem.Document{Type: "about:blank", Title: "The command failed", Code: codeFailed, Detail: err.Error()}
}

// remedy is what the catalogue says to do about a code.
func remedy(code problem.Code) string {
	entry, _ := problem.Lookup(code)
	return entry.Remedy
}

// usageDocument tells what is wrong with a call and where its help is. Faults of a configuration name their flags.
func usageDocument(err error, cmd *cobra.Command) *problem.Document {
	doc := &problem.Document{Type: "about:blank", Title: "The command cannot be called so", Code: codeUsage, Detail: err.Error()}
	if cmd != nil {
		doc.Hint = "see " + cmd.CommandPath() + " -h"
	}
	var faults *invalid.Error
	if !errors.As(err, &faults) {
		return doc
	}
	doc.Errors = problem.Faults(faults)
	var details []string
	for i := range doc.Errors {
		if cmd != nil {
			nameFlag(cmd, &doc.Errors[i])
		}
		details = append(details, doc.Errors[i].Detail)
	}
	doc.Detail = strings.Join(details, "; ")
	return doc
}

// nameFlag makes the place of a fault the flag of its key, wherever the value came from: that is how a key is known here.
func nameFlag(cmd *cobra.Command, f *problem.Fault) {
	key := strings.TrimPrefix(f.Pointer, "/")
	for name := strings.NewReplacer("/", "-", "_", "-").Replace(key); name != ""; {
		if flag := cmd.Flags().Lookup(name); flag != nil {
			f.Pointer, f.Detail = "", "--"+flag.Name+": "+f.Detail
			return
		}
		name = name[:max(0, strings.LastIndexByte(name, '-'))] // an element of a list
	}
}
