package command_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// The questions of an agent about a cluster are GET requests. Nobody asks for a Secret, a ConfigMap, a log or a kubelet, and the kubeconfig
// stays where it is. The answers are those about the dump.
func TestAgentOfACluster(t *testing.T) {
	s, flags := serve(t)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan int)
	var errs lockedText
	go func() {
		code := kubectl().Run(t.Context(), append([]string{"mcp"}, flags...), in, out, &errs)
		out.Close()
		ended <- code
	}()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	require.NoError(t, err)
	for _, x := range []struct {
		tool string
		a    map[string]any
		says string
	}{
		{"why_pod", map[string]any{"pod": "postgres-3"}, "Pod data/postgres-3 waits: "},
		{"why_no_pods", map[string]any{"workload": "deployment/shop/cart"}, "Deployment shop/cart"},
		{"fit", map[string]any{"template": "deployment/shop/cart"}, "more pods like shop/cart-template fit"},
		{"drain", map[string]any{"nodes": []string{"general-a1"}}, "can leave, in "},
		{"what_if", map[string]any{"changes": []any{map[string]any{"do": "removeNode", "on": "general-a1"}}}, "pods wait, 8 before"},
		{"overview", map[string]any{}, "12 nodes, "},
	} {
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: x.tool, Arguments: x.a})
		require.NoError(t, err)
		text := r.Content[0].(*sdk.TextContent).Text
		require.False(t, r.IsError, text)
		require.Contains(t, text, x.says)
		data, err := json.Marshal(r)
		require.NoError(t, err)
		require.NotContains(t, string(data), "127.0.0.1", "the address of the server")
	}
	require.NoError(t, c.Close())
	require.Zero(t, <-ended, errs.String())
	s.lock.Lock()
	defer s.lock.Unlock()
	require.Zero(t, s.writes)
	for _, resource := range []string{"secrets", "configmaps", "log", "stats", "summary", "configz", "exec"} {
		require.NotContains(t, s.asked, resource)
	}
}

// An agent hears that the cluster cannot be read, and not where it is or who asks: that is in the kubeconfig. The reason goes to standard error.
func TestAgentWithoutItsCluster(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(config, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`), 0o600))
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan int)
	var errs lockedText
	go func() {
		code := kubectl().Run(t.Context(), []string{"mcp", "--kubeconfig", config}, in, out, &errs)
		out.Close()
		ended <- code
	}()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	require.NoError(t, err)
	r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "overview"})
	require.NoError(t, err)
	require.True(t, r.IsError)
	require.Equal(t, "the cluster cannot be read: the standard error of the program says why", r.Content[0].(*sdk.TextContent).Text)
	require.Contains(t, errs.String(), "cannot reach the API server 127.0.0.1:1")
	require.NoError(t, c.Close())
	require.Zero(t, <-ended)
}

// lockedText is what two goroutines write and read.
type lockedText struct {
	lock sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(data []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.Write(data)
}

func (l *lockedText) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.String()
}
