package archtest

// Layer is a floor of the building: arrows go down only.
type Layer int

// The layers, from the ground up.
const (
	Vocabulary Layer = 1 + iota // words and bytes: no I/O, imports vocabulary only
	Core                        // pure: Step(event) → effects
	Platform                    // errors, configuration, life cycle, telemetry
	Generated                   // made from openapi/ or SQL
	Seam                        // an interface that adapters fill and shells use
	Adapter                     // hides one outside thing: Kafka, Postgres, the file system
	Shell                       // goroutines and I/O around cores
	HTTPAPI                     // handlers over an application layer
	Wiring                      // puts a service together
	Main                        // the binary
	TestOnly                    // support of tests; imported by tests only
)

var layerNames = map[Layer]string{Vocabulary: "vocabulary", Core: "core", Platform: "platform", Generated: "generated", Seam: "seam", Adapter: "adapter", Shell: "shell", HTTPAPI: "http api", Wiring: "wiring", Main: "main", TestOnly: "test only"}

func (l Layer) String() string { return layerNames[l] }

// below lists, for each layer, the layers that it may import.
var below = map[Layer][]Layer{
	Vocabulary: {Vocabulary},
	Core:       {Vocabulary, Core},
	Platform:   {Vocabulary, Platform},
	Generated:  {Vocabulary, Generated},
	Seam:       {Vocabulary, Core, Platform, Seam},
	Adapter:    {Vocabulary, Core, Platform, Generated, Seam},
	Shell:      {Vocabulary, Core, Platform, Generated, Seam, Shell},
	HTTPAPI:    {Vocabulary, Core, Platform, Generated, Seam, Shell},
	Wiring:     {Vocabulary, Core, Platform, Generated, Seam, Adapter, Shell, HTTPAPI, Wiring},
	Main:       {Vocabulary, Core, Platform, Generated, Seam, Adapter, Shell, HTTPAPI, Wiring, Main},
	TestOnly:   {Vocabulary, Core, Platform, Generated, Seam, Adapter, Shell, HTTPAPI, Wiring, Main, TestOnly},
}
