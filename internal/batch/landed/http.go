package landed

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/pondage/pondage/internal/batch"
)

// ndjson asks for a whole result, one row a line (INTERFACE §3).
const ndjson = "application/x-ndjson"

// mostProblem bounds what is shown of an answer that is an error, in bytes.
const mostProblem = 4 << 10

// HTTP reads the whole result of a stream from a coordinator at a URL. The client shows who asks, where that is asked for.
func HTTP(ctx context.Context, client *http.Client, api, stream string, columns []batch.Column) (*batch.Rows, error) {
	rows := batch.NewRows(columns)
	err := Results(ctx, client, api, stream, func(row []byte) error { return rows.AddJSON(row) })
	return rows, err
}

// Results gives each row of a stream's whole result to take, as JSON.
func Results(ctx context.Context, client *http.Client, api, stream string, take func(row []byte) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/v1/streams/"+stream+"/results", nil)
	if err != nil {
		return fmt.Errorf("results of %s: %w", stream, err)
	}
	request.Header.Set("Accept", ndjson)
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("results of %s: %w", stream, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		problem, _ := io.ReadAll(io.LimitReader(answer.Body, mostProblem)) // what was read tells enough
		return fmt.Errorf("results of %s: %s %s", stream, answer.Status, problem)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxRow)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := take(lines.Bytes()); err != nil {
			return fmt.Errorf("results of %s: %w", stream, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("results of %s: %w", stream, err)
	}
	return nil
}

// maxRow bounds one row, in bytes: as large as a Kafka message may be.
const maxRow = 8 << 20
