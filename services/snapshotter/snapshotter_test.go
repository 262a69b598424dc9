package snapshotter_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/snapshotter"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/lifecycle"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/snapshotter"
)

// start runs a snapshotter on a free port and ends it with the test.
func start(t *testing.T, change func(*config.Snapshotter)) (url, dir string) {
	t.Helper()
	cfg := config.DefaultSnapshotter()
	cfg.DataDir, cfg.HTTP.Listen, cfg.Security.Auth = filepath.Join(t.TempDir(), "node"), "127.0.0.1:0", config.AuthOff
	if change != nil {
		change(&cfg)
	}
	s, err := snapshotter.New(cfg, common.Version{Version: "v1", Commit: "abc", Role: "snapshotter", Go: "go1"}, telemetry.Nop())
	if err != nil {
		t.Fatal(err)
	}
	group := lifecycle.NewGroup(nil)
	for _, part := range s.Services() {
		group.Add(part)
	}
	if err := group.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := group.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s.URL(), cfg.DataDir
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body json.RawMessage
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func TestItSaysWhatItIs(t *testing.T) {
	t.Parallel()
	url, _ := start(t, nil)
	client, err := api.NewClientWithResponses(url)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.GetVersionWithResponse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if answer.JSON200 == nil || answer.JSON200.Version != "v1" || answer.JSON200.Role != "snapshotter" {
		t.Errorf("version: %s", answer.Body)
	}
	if status, body := get(t, url+"/openapi.json"); status != http.StatusOK || !strings.Contains(body, "Pondage snapshotter") {
		t.Errorf("document: %d %.100s", status, body)
	}
}

func TestItIsReadyWhileItsDirectoryTakesFiles(t *testing.T) {
	t.Parallel()
	url, dir := start(t, nil)
	if status, body := get(t, url+"/readyz"); status != http.StatusOK || !strings.Contains(body, `"data_dir"`) {
		t.Errorf("ready: %d %s", status, body)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the probe is left: %v, %v", left, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, url+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "mend the directory") {
		t.Errorf("without its directory: %d %s", status, body)
	}
	if status, _ := get(t, url+"/healthz"); status != http.StatusOK {
		t.Errorf("it lives all the same: %d", status)
	}
}

func TestOnlyTheAdministratorIsKnown(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("admin-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := start(t, func(cfg *config.Snapshotter) {
		cfg.Security.Auth, cfg.Security.AdminToken = config.AuthToken, config.Secret{From: config.SecretFile, Name: secret}
	})
	for token, want := range map[string]int{"admin-token": http.StatusOK, "another": http.StatusUnauthorized, "": http.StatusUnauthorized} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("token %q: status %d, want %d", token, answer.StatusCode, want)
		}
	}
}

func TestAPortInUseFailsTheStartByName(t *testing.T) {
	t.Parallel()
	url, _ := start(t, nil)
	cfg := config.DefaultSnapshotter()
	cfg.DataDir, cfg.HTTP.Listen = t.TempDir(), strings.TrimPrefix(url, "http://")
	if _, err := snapshotter.New(cfg, common.Version{}, telemetry.Nop()); err == nil || !strings.Contains(err.Error(), cfg.HTTP.Listen) {
		t.Errorf("error: %v", err)
	}
}
