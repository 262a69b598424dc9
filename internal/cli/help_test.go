package cli_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pondage/pondage/internal/cli"
	"github.com/pondage/pondage/internal/cli/commands"
)

func root() *cobra.Command {
	return cli.New(cli.Shell{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, commands.All()...)
}

// all lists the commands that a user can see.
func all(cmd *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() && below.Name() != "help" && below.Name() != "completion" {
			out = append(out, all(below)...)
		}
	}
	return out
}

// machine matches defaults that differ from machine to machine.
var machine = regexp.MustCompile(`(--(memory|postgres-max-connections) .*\(default )[^)]*`)

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "dev", "source", "source apply", "stream", "stream wait", "stream explain-window", "sql", "validate", "validate source",
		"checkpoint take", "savepoint create", "stream start", "stream recover", "ingest", "results", "tail", "doctor", "token create", "decode", "decode-check", "hash"} {
		args := append(strings.Fields(name), "-h")
		got := run(t, t.Context(), "", args...)
		if got.status != 0 || got.err != "" {
			t.Errorf("%v: status %d, errors %s", args, got.status, got.err)
		}
		golden(t, "help/"+strings.ReplaceAll("pondage "+name, " ", "_"), machine.ReplaceAllString(got.out, "$1…"))
	}
}

// Who knows no command reads the help: each has examples that can be called, a sentence, and -o.
func TestEveryCommandTeaches(t *testing.T) {
	t.Parallel()
	for _, cmd := range all(root()) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short help %q", cmd.CommandPath(), cmd.Short)
		}
		if cmd.InheritedFlags().Lookup("output") == nil && cmd.Flags().Lookup("output") == nil {
			t.Errorf("%s has no -o", cmd.CommandPath())
		}
		exampleCalls(t, cmd)
	}
}

// word finds the words of a line, as far as examples have quotes.
var word = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)

// calls finds the calls of the binary in a line of an example.
func calls(line string) [][]string {
	var out [][]string
	var open []string // of the call that is being read
	for _, w := range append(word.FindAllString(line, -1), "|") {
		switch {
		case strings.Contains("|<>#", w[:1]):
			if open != nil {
				out = append(out, open[1:])
			}
			open = nil
		case w == "pondage" || open != nil:
			open = append(open, strings.Trim(w, `'"`))
		}
	}
	return out
}

func exampleCalls(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	for line := range strings.SplitSeq(cmd.Example, "\n") {
		for _, args := range calls(line) {
			if err := parses(args); err != nil {
				t.Errorf("%s: example %q: %v", cmd.CommandPath(), line, err)
			}
		}
	}
}

// parses tells what is wrong with a call, without making it.
func parses(args []string) error {
	target, rest, err := root().Find(args)
	if err != nil {
		return err
	}
	if err := target.ParseFlags(rest); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	return target.ValidateArgs(target.Flags().Args())
}

func TestPageIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := cli.Page(&got, commands.All()...); err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Error("docs/cli.md is not what the commands say; make generate mends it")
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                                  "pondage needs one of the commands above",
		"strem":                             "did you mean stream?",
		"stream":                            "pondage stream needs one of the commands above",
		"stream lst":                        "did you mean list?",
		"stream list --foo":                 "unknown flag: --foo",
		"stream get":                        "it is used as: pondage stream get NAME",
		"stream list extra":                 "pondage stream list",
		"stream list -o xml":                `output "xml": want table, json or yaml`,
		"results q -o xml":                  "want table, ndjson, csv, json or yaml",
		"stream wait q --for dancing":       "want running, paused, stopped or finished",
		"stream list --api nonsense":        "--api: \"nonsense\": want http://host:port",
		"stream list --token secret":        "never the secret itself",
		"source apply":                      "say what to apply: -f FILE",
		"sql":                               "give either a statement or -f FILE",
		"sql ;":                             "there is no statement",
		"validate":                          "give either a statement or -f FILE",
		"decode":                            "--source SPEC",
		"decode-check --records x":          "name both files",
		"hash":                              "pondage hash NAME",
		"hash x --vgroups 0":                "want at least 1",
		"hash x --prefix 1 --suffix -1":     "hash prefix",
		"hash x --prefix 192":               "192",
		"token create x --role king":        "want viewer, editor or admin",
		"stream explain-window q --time 5h": "want RFC 3339",
		"coordinator --vgroups 0":           "--vgroups",
		"coordinator --config /no/such":     "configuration file",
		"worker":                            "--postgres-url: name the database",
	} {
		got := run(t, t.Context(), "", strings.Fields(line)...)
		got.complains(t, cli.StatusUsage, want)
		if got.out != "" {
			t.Errorf("%q writes to standard output: %s", line, got.out)
		}
	}
}

func TestErrorsOfProgramsAreProblems(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"stream lst -o json", "stream get --output=json", "-ojson hash x --vgroups 0", "hash x --foo -o json"} {
		got := run(t, t.Context(), "", strings.Fields(line)...)
		if got.status != cli.StatusUsage || !strings.HasPrefix(got.err, `{"type":"about:blank"`) || !strings.Contains(got.err, `"code":"wrong_usage"`) || strings.Count(got.err, "\n") != 1 {
			t.Errorf("%q: %d %s", line, got.status, got.err)
		}
	}
	got := run(t, t.Context(), "", "stream", "list", "--api", "http://127.0.0.1:1", "-o", "yaml")
	got.complains(t, cli.StatusFailed, "code: api_unreachable")
}

func TestFurtherCommandsHaveTheSameStatuses(t *testing.T) {
	t.Parallel()
	further := func() *cobra.Command {
		return &cobra.Command{Use: "further", Short: "Fails", RunE: func(*cobra.Command, []string) error { return io.ErrUnexpectedEOF }}
	}
	for line, want := range map[string]int{"further": cli.StatusFailed, "further x": cli.StatusUsage, "further -h": cli.StatusDone} {
		var out bytes.Buffer
		if got := cli.Run(t.Context(), cli.Shell{Out: &out, Err: &out}, strings.Fields(line), further()); got != want {
			t.Errorf("%q: status %d, want %d: %s", line, got, want, out.String())
		}
	}
}
