package plan

import (
	"encoding/csv"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

func keyColumnOf(values ...string) *block.Column {
	c := block.NewColumn(block.String, len(values))
	for _, v := range values {
		c.AppendString(v)
	}
	return c
}

// TestTablesAreRoutedByTheirName: partitioned by tbname, a group's vgroup is that of its table.
func TestTablesAreRoutedByTheirName(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../../test/testdata/expected/tables.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	r := mustBuildSQL(t, flights1hSQL).NewRouter()
	for _, row := range rows[1:] {
		name := row[at["table"]]
		want, err := strconv.Atoi(row[at["vgroup_of_8"]])
		if err != nil {
			t.Fatal(err)
		}
		if got := r.VGroup([]*block.Column{keyColumnOf(name)}, 0); got != ident.VGroup(want) {
			t.Errorf("table %s is in vgroup %d, want %d", name, got, want)
		}
	}
}

func TestSubtablesAreNamedAfterTheGroup(t *testing.T) {
	t.Parallel()
	r := mustBuildSQL(t, "CREATE STREAM s AS SELECT count(*) FROM flights PARTITION BY carrier SUBTABLE('to_' || nullif(carrier, 'x')) INTERVAL(1h)").NewRouter()
	keys := []*block.Column{keyColumnOf("AA", "", "x")}
	keys[0].AppendNull()
	names := map[string]bool{}
	for row := range keys[0].Len() {
		names[r.Name(keys, row).Name] = true
	}
	if len(names) != keys[0].Len() {
		t.Errorf("%d groups have the names %v", keys[0].Len(), names)
	}
	if got := r.Name(keys, 0).Name; len(got) < 5 || got[:6] != "to_AA_" {
		t.Errorf("the name of AA is %s", got)
	}
	if got := r.Name(keys, 2).Name; got[:2] != "t_" {
		t.Errorf("a group without a name is called %s, want an automatic name", got)
	}
}

func TestOneGroupHasOneTask(t *testing.T) {
	t.Parallel()
	p := mustBuildSQL(t, "CREATE STREAM s AS SELECT count(*) FROM flights INTERVAL(1h)")
	g := p.Graph(1, 4)
	var agg []ident.VGroup
	for _, task := range g.Tasks {
		if task.Task.Level == ident.LevelAgg {
			agg = append(agg, task.Task.VGroup)
		}
	}
	if want := p.NewRouter().VGroup(nil, 0); len(agg) != 1 || agg[0] != want {
		t.Errorf("aggregating tasks in %v, rows go to %d", agg, want)
	}
}

// TestEveryPartitionHasOneReader: for any stream and any number of partitions and vgroups.
func TestEveryPartitionHasOneReader(t *testing.T) {
	t.Parallel()
	p := *mustBuildSQL(t, flights1hSQL)
	rapid.Check(t, func(t *rapid.T) {
		q := p
		q.Env.VGroups = rapid.IntRange(1, 64).Draw(t, "vgroups")
		id := ident.StreamID(rapid.Int64Min(1).Draw(t, "id"))
		partitions := rapid.IntRange(0, 100).Draw(t, "partitions")
		read := map[ident.Partition]int{}
		tasks := map[ident.Task]bool{}
		for _, task := range q.Graph(id, partitions).Tasks {
			if tasks[task.Task] {
				t.Fatalf("task %s is there twice", task.Task)
			}
			tasks[task.Task] = true
			if (task.Task.Level == ident.LevelSource) != (len(task.Partitions) > 0) {
				t.Fatalf("task %s reads %v", task.Task, task.Partitions)
			}
			for _, n := range task.Partitions {
				read[n]++
				if want := SourceVGroup(id, n, q.Env.VGroups); task.Task.VGroup != want {
					t.Fatalf("partition %d is read by %s, want vgroup %d", n, task.Task, want)
				}
			}
		}
		for n := range partitions {
			if read[ident.Partition(n)] != 1 {
				t.Fatalf("partition %d has %d readers", n, read[ident.Partition(n)])
			}
		}
	})
}

// TestPartitionsGoAroundTheVGroups: neighbours lie in neighbouring vgroups, and the beginning never changes (stored
// placements depend on it).
func TestPartitionsGoAroundTheVGroups(t *testing.T) {
	t.Parallel()
	begin := map[ident.StreamID]ident.VGroup{1: 3, 7: 1, 1000: 0}
	for id, first := range begin {
		for n := range ident.Partition(20) {
			want := (first + ident.VGroup(n)) % 8
			if got := SourceVGroup(id, n, 8); got != want {
				t.Errorf("stream %d, partition %d: vgroup %d, want %d", id, n, got, want)
			}
		}
	}
}
