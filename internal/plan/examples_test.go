package plan

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/spec"
)

// readExamples decodes every example: sources by name, streams by file.
func readExamples(t *testing.T) (map[string]*spec.Source, map[string]*spec.Stream) {
	t.Helper()
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	sources, streams := map[string]*spec.Source{}, map[string]*spec.Stream{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		docs, err := spec.Split(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, doc := range docs {
			o, err := doc.Decode()
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			switch o := o.(type) {
			case *spec.Source:
				sources[o.Name] = o
			case *spec.Stream:
				streams[file] = o
			}
		}
	}
	return sources, streams
}

func TestEveryExampleCanBePlanned(t *testing.T) {
	t.Parallel()
	sources, streams := readExamples(t)
	for file, st := range streams {
		if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); st.Name != want {
			t.Errorf("%s holds the stream %s", file, st.Name)
		}
		if sources[st.Source] == nil {
			t.Errorf("%s reads the source %s, which no example declares", file, st.Source)
			continue
		}
		if _, err := Build(sources[st.Source], st, testEnv()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// expectedFile finds the answer that an example names in a comment.
var expectedFile = regexp.MustCompile(`test/testdata/expected/\S+`)

// TestExamplesHaveTheColumnsOfTheirAnswers: what an example gives can be compared with its expected answer as it is.
func TestExamplesHaveTheColumnsOfTheirAnswers(t *testing.T) {
	t.Parallel()
	sources, streams := readExamples(t)
	compared := 0
	for file, st := range streams {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		answer := expectedFile.FindString(string(text))
		if answer == "" {
			continue
		}
		p, err := Build(sources[st.Source], st, testEnv())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range p.Result.Columns {
			got = append(got, c.Name)
		}
		if want := header(t, "../../"+answer); !slices.Equal(got, want) {
			t.Errorf("%s has the columns %v, its answer %v", file, got, want)
		}
		compared++
	}
	const answers = 10 // all of test/testdata/expected but tables and lateness
	if compared != answers {
		t.Errorf("%d examples have answers, want %d", compared, answers)
	}
}

func header(t *testing.T, file string) []string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	first, err := csv.NewReader(r).Read()
	if err != nil {
		t.Fatal(err)
	}
	return first
}
