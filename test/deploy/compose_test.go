// Package deploy holds what is shipped to run Pondage against what Pondage is: every command, flag and variable in
// deploy/ exists, and every process would start with its configuration.
package deploy

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	compose "github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/spf13/pflag"

	"github.com/pondage/pondage/internal/cli"
	"github.com/pondage/pondage/internal/cli/commands"
	"github.com/pondage/pondage/internal/cli/serve"
	"github.com/pondage/pondage/internal/config"
)

const deploy = "../../deploy"

func project(t *testing.T) *types.Project {
	t.Helper()
	options, err := compose.NewProjectOptions([]string{filepath.Join(deploy, "compose.yaml")}, compose.WithProfiles([]string{"*"}))
	if err != nil {
		t.Fatal(err)
	}
	p, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// role returns the configuration of a command, defaults in it.
func role(command string) config.Role {
	coordinator, node, doctor, client := config.DefaultCoordinator(), config.DefaultNode(), config.DefaultDoctor(), config.DefaultClient()
	switch command {
	case "coordinator":
		return &coordinator
	case "node":
		return &node
	case "doctor":
		return &doctor
	}
	return &client
}

// variables are the names of a role's keys as variables.
func variables(r config.Role) []string {
	var names []string
	for line := range strings.SplitSeq(strings.TrimSpace(config.Print(r)), "\n") {
		key, _, _ := strings.Cut(line, ":")
		names = append(names, config.EnvPrefix+strings.ToUpper(strings.ReplaceAll(key, ".", "_")))
	}
	return names
}

// ours tells whether a container runs the binary.
func ours(s types.ServiceConfig) bool { return strings.HasPrefix(s.Image, "pondage:") }

func TestEveryProcessWouldStart(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for name, s := range project(t).Services {
		if !ours(s) {
			continue
		}
		root := cli.New(cli.Shell{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, commands.All()...)
		cmd, args, err := root.Find(s.Command)
		if err != nil || !cmd.Runnable() {
			t.Errorf("%s: command %v: %v", name, s.Command, err)
			continue
		}
		found[cmd.Name()]++
		if err := cmd.ParseFlags(args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := loads(cmd.Name(), args, s.Environment); err != nil {
			t.Errorf("%s would not start: %v", name, err)
		}
		for variable := range s.Environment {
			if !slices.Contains(variables(role(cmd.Name())), variable) {
				t.Errorf("%s: %s has no key %s", name, cmd.Name(), variable)
			}
		}
	}
	if found["coordinator"] < 1 || found["node"] < 2 {
		t.Errorf("want a coordinator and two nodes: %v", found)
	}
}

// loads makes a configuration of flags and variables as the process does. Aliases of flags are the command line's.
func loads(command string, args []string, environment types.MappingWithEquals) error {
	loader, flags := config.NewLoader(role(command)), pflag.NewFlagSet(command, pflag.ContinueOnError)
	loader.Bind(flags)
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "kafka" {
			name = "kafka-brokers"
		}
		return pflag.NormalizedName(name)
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	var environ []string
	for name, value := range environment {
		environ = append(environ, name+"="+*value)
	}
	_, err := loader.Load(environ)
	return err
}

func TestEveryServiceHasAHealthCheckAndWhatItNames(t *testing.T) {
	t.Parallel()
	p := project(t)
	for name, s := range p.Services {
		if len(s.Profiles) == 0 && s.HealthCheck == nil {
			t.Errorf("%s has no health check", name)
		}
		if ours(s) && s.StopGracePeriod != nil && time.Duration(*s.StopGracePeriod) <= serve.Grace {
			t.Errorf("%s is given %s to close", name, s.StopGracePeriod)
		}
		for variable, value := range s.Environment {
			if path, isFile := strings.CutPrefix(*value, "file:/run/secrets/"); isFile && !slices.ContainsFunc(s.Secrets, func(c types.ServiceSecretConfig) bool { return c.Source == path }) {
				t.Errorf("%s: %s names the secret %s, which the service does not have", name, variable, path)
			}
		}
	}
	script, err := os.ReadFile(filepath.Join(deploy, "secrets.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range p.Secrets {
		if !strings.Contains(string(script), name) {
			t.Errorf("secrets.sh does not make %s", name)
		}
	}
}

// What the image is built from exists, and the builder is no older than the module asks for.
func TestTheImageCanBeBuilt(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(deploy, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	ignore, err := os.ReadFile(filepath.Join(deploy, "Dockerfile.dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(string(text), -1) {
		for path := range strings.FieldsSeq(m[1]) {
			if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
				t.Errorf("the image copies %s: %v", path, err)
			}
			if !strings.Contains(string(ignore), "\n!"+path+"\n") {
				t.Errorf("the builder is not sent %s", path)
			}
		}
	}
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(module))
	if !strings.Contains(string(text), "FROM golang:"+wanted[1]+"-") {
		t.Errorf("the module wants Go %s", wanted[1])
	}
}

// The guide's own commands exist.
func TestTheGuideIsRight(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(deploy, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile(`(?m)run --rm cli ([a-z][^#\n]*)`).FindAllStringSubmatch(string(text), -1)
	for _, call := range calls {
		args := strings.Fields(call[1])
		root := cli.New(cli.Shell{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		cmd, rest, err := root.Find(args)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		for _, arg := range args {
			if path, ok := strings.CutPrefix(arg, "/examples/"); ok {
				if _, err := os.Stat(filepath.Join("../../examples", path)); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if len(calls) < 3 {
		t.Errorf("%d calls found", len(calls))
	}
}
