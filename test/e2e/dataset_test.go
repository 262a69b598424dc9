package e2e

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pondage/pondage/internal/batch"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/ingest"
	"github.com/pondage/pondage/internal/spec"
)

const (
	examples = "../../examples/"
	testdata = "../testdata/"
)

// dataset is a file of real records, loaded into a topic once a cluster, with the sources of its example over it.
type dataset struct {
	once    sync.Once
	sources map[string]string // name in the example → name in the cluster
}

// files are the records of the examples.
var files = map[string]string{
	"flights":     examples + "flights/flights.ndjson.gz",
	"flights-nyc": testdata + "data/flights-nyc.ndjson.gz",
	"weather":     testdata + "data/weather.ndjson.gz",
	"earthquakes": testdata + "data/earthquakes.ndjson.gz",
}

// dataset loads an example's records into a topic with so many partitions.
func (c *cluster) dataset(t testing.TB, example string, partitions int) *dataset {
	t.Helper()
	key := fmt.Sprintf("%s_%s_p%d", c.id, strings.ReplaceAll(example, "-", "_"), partitions)
	loaded, _ := c.datasets.LoadOrStore(key, &dataset{})
	d := loaded.(*dataset)
	d.once.Do(func() { c.load(t, d, example, key, partitions) })
	if d.sources == nil {
		t.Fatalf("dataset %s was not loaded", key)
	}
	return d
}

func (c *cluster) load(t testing.TB, d *dataset, example, topic string, partitions int) {
	t.Helper()
	c.topic(t, topic, partitions)
	sources := map[string]string{}
	var any string
	for _, doc := range documents(t, examples+example+"/source.yaml") {
		original := doc["name"].(string)
		any = fmt.Sprintf("%s_%s_p%d", c.id, original, partitions)
		doc["name"], doc["kafka"] = any, object{"topic": topic}
		c.must(t, http.MethodPost, "/v1/sources", doc)
		sources[original] = any
	}
	file, err := os.Open(files[example])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const records = 20_000 // a request
	batches, err := ingest.NewBatches(file, records)
	if err != nil {
		t.Fatal(err)
	}
	_, err = ingest.Send(t.Context(), batches, ingest.Config{HTTP: c.api.HTTP, Key: client.NewKey(), Patience: patience, Worker: func(ctx context.Context) (string, error) { return c.api.IngestURL(ctx, any) }})
	if err != nil {
		t.Fatalf("load %s: %v", example, err)
	}
	d.sources = sources
}

// documents reads the specs of a YAML file as JSON objects.
func documents(t testing.TB, file string) []object {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := spec.Split(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var all []object
	for _, doc := range docs {
		decoded, err := doc.Decode()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		form, err := json.Marshal(decoded)
		if err != nil {
			t.Fatal(err)
		}
		var o object
		if err := json.Unmarshal(form, &o); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

// example creates the stream of a file over a dataset, with outputs of its own, and returns its name.
func (c *cluster) example(t testing.TB, d *dataset, file string, members object) string {
	t.Helper()
	doc := documents(t, examples+file)[0]
	name := c.name(strings.TrimSuffix(filepath.Base(file), ".yaml"))
	doc["name"], doc["source"] = name, d.sources[doc["source"].(string)]
	doc["outputs"] = object{"postgres": object{"table": name}, "kafka": object{"topic": name}}
	maps.Copy(doc, members)
	return c.create(t, doc)
}

// expected reads an answer of test/testdata/expected as rows of these columns.
func expected(t testing.TB, file string, columns []batch.Column) *batch.Rows {
	t.Helper()
	rows := batch.NewRows(columns)
	rows.Tolerance = 1e-9 // the files have rounded sums
	table := readCSV(t, file)
	place := map[string]int{}
	for i, name := range table[0] {
		place[name] = i
	}
	for _, line := range table[1:] {
		values := make([]string, len(columns))
		for i, col := range columns {
			at, ok := place[col.Name]
			if !ok {
				t.Fatalf("%s has no column %s", file, col.Name)
			}
			var v any
			if line[at] != "" {
				v = line[at]
			}
			var err error
			if values[i], err = batch.Value(col.Type, v); err != nil {
				t.Fatalf("%s: column %s: %v", file, col.Name, err)
			}
		}
		rows.Add(values)
	}
	return rows
}

func readCSV(t testing.TB, file string) [][]string {
	t.Helper()
	f, err := os.Open(testdata + "expected/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	table, err := csv.NewReader(in).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return table
}

// records are the records of an example, unpacked.
func records(t testing.TB, example string) io.Reader {
	t.Helper()
	f, err := os.Open(files[example])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
