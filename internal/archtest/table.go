package archtest

// packages lists every package of the module with its layer. A path that ends in "/..." stands for all below it.
var packages = map[string]Layer{
	"internal/ident":     Vocabulary,
	"internal/block":     Vocabulary,
	"internal/invalid":   Vocabulary,
	"internal/numtext":   Vocabulary,
	"internal/tablehash": Vocabulary,
	"internal/rowjson":   Vocabulary,
	"internal/calendar":  Vocabulary,
	"internal/manifest":  Vocabulary,
	"examples/flights":   Vocabulary, // data alone

	"internal/sql":          Core,
	"internal/expr":         Core,
	"internal/decode":       Core,
	"internal/decode/check": Shell,
	"internal/agg":          Core,
	"internal/window":       Core,
	"internal/watermark":    Core,
	"internal/dispatch":     Core,
	"internal/task":         Core,
	"internal/checkpoint":   Core,
	"internal/state":        Core,
	"internal/align":        Core, // the events of task
	"internal/spec":         Core,
	"internal/plan":         Core,
	"internal/pipeline":     Core,
	"internal/batch":        Core, // the dumb model that results are compared with

	"services/coordinator/internal/placement":      Core,
	"services/coordinator/internal/control/decide": Core,
	"services/coordinator/internal/store/lease":    Core,

	"internal/problem":        Platform,
	"internal/problem/gen":    Main,
	"internal/config":         Platform,
	"internal/config/gen/...": Main,
	"internal/lifecycle":      Platform,
	"internal/telemetry":      Platform,
	"internal/failpoint":      Platform,
	"internal/httpserver":     Platform,
	"internal/httpserver/...": Platform,

	"internal/api/...": Generated,
	"migrations":       Generated,
	"openapi":          Generated,
	"services/coordinator/internal/store/pgstore/query": Generated,

	"internal/kafka":                                Adapter,
	"internal/pgtable":                              Adapter,
	"internal/storage":                              Seam,
	"internal/storage/vfs":                          Seam,
	"internal/storage/dirstore":                     Adapter,
	"internal/state/overflow":                       Adapter,
	"internal/storage/faultfs":                      TestOnly,
	"internal/storage/storagetest":                  TestOnly,
	"services/coordinator/internal/store":           Seam,
	"services/coordinator/internal/store/memstore":  Adapter,
	"services/coordinator/internal/store/pgstore":   Adapter,
	"services/coordinator/internal/store/schema":    Adapter,
	"services/coordinator/internal/store/storetest": TestOnly,

	"services/coordinator/internal/control":          Shell,
	"services/coordinator/internal/control/planning": Shell,
	"services/coordinator/internal/language":         Shell,
	"services/coordinator/internal/httpapi":          HTTPAPI,
	"services/coordinator/internal/outside":          Wiring,
	"services/coordinator":                           Wiring,

	"services/worker/internal/node":          Shell,
	"services/worker/internal/live":          Shell,
	"services/worker/internal/exchange":      Shell,
	"services/worker/internal/memory":        Shell,
	"services/worker/internal/notify":        Adapter,
	"services/worker/internal/sink":          Wiring,
	"services/worker/internal/task":          Wiring,
	"services/worker/internal/offsets":       Wiring,
	"services/worker/internal/checkpointing": Wiring,
	"services/worker/internal/stage":         Wiring,
	"services/worker":                        Wiring,

	"services/worker/internal/catalog":   Shell,
	"services/worker/internal/peers":     Shell,
	"services/worker/internal/ingest":    Wiring,
	"services/worker/internal/results":   Wiring,
	"services/worker/internal/setaside":  Wiring,
	"services/worker/internal/explain":   Wiring,
	"services/worker/internal/watch":     Wiring,
	"services/worker/internal/readiness": Wiring,
	"services/worker/internal/httpapi":   HTTPAPI,

	"services/snapshotter/internal/httpapi": HTTPAPI,
	"services/snapshotter":                  Wiring,

	"internal/connect":      Wiring,
	"internal/devstack/...": Wiring,
	"internal/batch/landed": Wiring,

	"cmd/pondage":              Main,
	"internal/cli":             Main,
	"internal/cli/...":         Main,
	"internal/bench":           Main,
	"internal/chaos":           Main,
	"internal/demo":            Main,
	"internal/conformance/...": Main,

	"internal/archtest": TestOnly,
	"internal/sim/...":  Main, // a test bed with a command
	"test/chaos":        TestOnly,
	"test/e2e":          TestOnly,
}

// coreImports are the packages of the standard library that no core may import: they are I/O, clocks, goroutines and
// loggers (DESIGN §14). time itself is allowed for its types and the calendar; its clocks are not (coreCalls).
var coreImports = map[string]string{
	"net": "I/O", "net/http": "I/O", "os": "I/O", "io/ioutil": "I/O", "context": "deadlines belong to shells", "sync": "a core has one caller",
	"sync/atomic": "a core has one caller", "log": "cores are silent", "log/slog": "cores are silent", "database/sql": "I/O", "math/rand": "randomness comes in with the event",
	"math/rand/v2": "randomness comes in with the event", "crypto/rand": "randomness comes in with the event",
}

// coreCalls are functions that no core may call.
var coreCalls = map[string]map[string]bool{
	"time": {"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true, "NewTimer": true, "NewTicker": true, "Tick": true, "LoadLocation": true},
}

// exceptions: "importer → imported", with the reason.
var exceptions = map[string]string{}
