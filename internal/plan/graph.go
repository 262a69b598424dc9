package plan

import (
	"github.com/pondage/pondage/internal/ident"
)

// Graph is the tasks of a stream and how they are connected (DESIGN §1, §2).
type Graph struct {
	Tasks []GraphTask // by level, then vgroup
	Edges []GraphEdge
}

// GraphTask is a task with what it reads and writes.
type GraphTask struct {
	Task ident.Task
	// Partitions are the source partitions that a source task reads, ascending.
	Partitions []ident.Partition
	// Sinks tells whether the sinks are chained into the task.
	Sinks bool
}

// GraphEdge connects two levels of a stream by a topic with one partition a vgroup.
type GraphEdge struct {
	From, Into ident.Level
	Kind       EdgeKind
	Topic      string
}

// EdgeKind says to which tasks of the next level a task's rows go.
type EdgeKind uint8

// The edges of DESIGN §5.
const (
	EdgeShuffle EdgeKind = 1 + iota // by the hash of the group's subtable name
	EdgeFixed                       // to one task
)

// String returns the kind's name in the API.
func (k EdgeKind) String() string {
	if k == EdgeFixed {
		return "fixed"
	}
	return "shuffle"
}

// Graph lays the stream out over the vgroups, given how many partitions its source has.
func (p *Plan) Graph(id ident.StreamID, partitions int) Graph {
	var g Graph
	read := make([][]ident.Partition, p.Env.VGroups)
	for n := range partitions {
		vg := SourceVGroup(id, ident.Partition(n), p.Env.VGroups)
		read[vg] = append(read[vg], ident.Partition(n))
	}
	into, hasEdge := p.secondLevel()
	for vg, list := range read {
		if len(list) > 0 {
			g.Tasks = append(g.Tasks, GraphTask{Task: ident.Task{Level: ident.LevelSource, VGroup: ident.VGroup(vg)}, Partitions: list, Sinks: !hasEdge})
		}
	}
	if !hasEdge {
		return g
	}
	edge := GraphEdge{From: ident.LevelSource, Into: into, Kind: EdgeShuffle, Topic: p.Env.Cluster.EdgeTopic(p.Stream.Name, id, into)}
	if !p.Partitioned() {
		edge.Kind = EdgeFixed
	}
	g.Edges = []GraphEdge{edge}
	for _, vg := range p.receivers() {
		g.Tasks = append(g.Tasks, GraphTask{Task: ident.Task{Level: into, VGroup: vg}, Sinks: true})
	}
	return g
}

// secondLevel is the level behind the sources, if there is one: the sinks of a stream without window are chained into
// its sources unless PARTITION BY asks for another partitioning than the source's.
func (p *Plan) secondLevel() (ident.Level, bool) {
	switch {
	case p.Windowed():
		return ident.LevelAgg, true
	case p.Partitioned():
		return ident.LevelSink, true
	}
	return 0, false
}

// receivers are the vgroups with a task of the second level: all of them, or that of the only group.
func (p *Plan) receivers() []ident.VGroup {
	if !p.Partitioned() {
		return []ident.VGroup{p.NewRouter().VGroup(nil, 0)}
	}
	all := make([]ident.VGroup, p.Env.VGroups)
	for vg := range all {
		all[vg] = ident.VGroup(vg)
	}
	return all
}
