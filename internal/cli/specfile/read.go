package specfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/spec"
)

// Stdin is the path that means standard input.
const Stdin = "-"

// Object is a source or stream with the place it was read from.
type Object struct {
	spec.Object
	File string
	doc  spec.Document
}

// Read reads all objects of files, of folders (their .yaml, .yml and .json files by name, not those of folders below) and
// of standard input. All faults of all files are reported; then nothing is returned.
func Read(paths []string, stdin io.Reader) ([]Object, error) {
	var all []Object
	var errs []error
	for _, path := range paths {
		files, err := expand(path)
		if err != nil {
			errs = append(errs, err)
		}
		for _, file := range files {
			objects, err := readFile(file, stdin)
			if err != nil {
				errs = append(errs, err)
			}
			all = append(all, objects...)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return all, nil
}

// Text reads one file or standard input.
func Text(path string, stdin io.Reader) ([]byte, error) {
	if path == Stdin {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(path)
}

// expand lists the files that a path means.
func expand(path string) ([]string, error) {
	if path == Stdin {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) && e.Type()&fs.ModeDir == 0 {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no .yaml, .yml or .json file in the folder", path)
	}
	return files, nil
}

func readFile(file string, stdin io.Reader) ([]Object, error) {
	text, err := Text(file, stdin)
	if err != nil {
		return nil, err
	}
	docs, err := spec.Split(text)
	if err != nil {
		return nil, located(file, nil, err)
	}
	var objects []Object
	var errs []error
	for _, doc := range docs {
		o, err := doc.Decode()
		if err != nil {
			errs = append(errs, located(file, &doc, err))
			continue
		}
		objects = append(objects, Object{Object: o, File: file, doc: doc})
	}
	return objects, errors.Join(errs...)
}

// Blame gives a problem that a service found with the object its places in the file.
func (o Object) Blame(doc problem.Document) error {
	if len(doc.Errors) == 0 {
		doc.Detail = fmt.Sprintf("%s %s: %s", o.ObjectKind(), o.ObjectName(), doc.Detail)
		return &Error{doc: doc}
	}
	doc.Errors = slices.Clone(doc.Errors)
	doc.Instance = o.File
	locate(&o.doc, doc.Errors)
	return &Error{doc: doc}
}

// located gives the faults of a document their places in the file. doc is nil where the text is no document.
func located(file string, doc *spec.Document, err error) error {
	var faults *invalid.Error
	if !errors.As(err, &faults) {
		return fmt.Errorf("%s: %w", file, err)
	}
	out := problem.From(faults)
	out.Instance = file
	if doc != nil {
		locate(doc, out.Errors)
	}
	return &Error{doc: *out}
}

// locate replaces the places of faults, which are within their document or within an expression of it, by lines and
// columns of the file.
func locate(doc *spec.Document, faults []problem.Fault) {
	for i, f := range faults {
		place, ok := doc.Place(f.Pointer)
		if !ok {
			continue
		}
		at := &problem.Span{Offset: place.Offset, Length: place.Length, Line: place.Line, Column: place.Column}
		if f.Span != nil && f.Span.Line == 1 { // an expression on one line: the fault's place within it
			at.Column += f.Span.Column - 1
			at.Length = f.Span.Length
		}
		faults[i].Span = at
	}
}

// Error is what is wrong with the objects of a file. Its problem document has the file as its instance.
type Error struct{ doc problem.Document }

// Document returns the error in the one form of errors.
func (e *Error) Document() *problem.Document { return &e.doc }

func (e *Error) Error() string {
	if len(e.doc.Errors) == 0 {
		return fmt.Sprintf("%s (%s)", e.doc.Detail, e.doc.Code)
	}
	first := e.doc.Errors[0]
	return fmt.Sprintf("%s: %s (%s)", e.doc.Instance, first.Detail, first.Code)
}
