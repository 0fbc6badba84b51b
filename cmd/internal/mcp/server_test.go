package mcp

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A server on a connection answers a line with a line, and ends without an error when its input ends.
func TestServe(t *testing.T) {
	const asks = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n"
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error)
	go func() { ended <- Serve(t.Context(), fileOptions(shipped), in, out) }()
	_, err := io.WriteString(toServer, asks)
	require.NoError(t, err)
	line, err := bufio.NewReader(fromServer).ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, toServer.Close())
	require.NoError(t, <-ended)
	var answer struct {
		ID     int
		Result struct {
			Instructions string
			ServerInfo   struct{ Name, Version string }
		}
	}
	require.NoError(t, json.Unmarshal(line, &answer))
	require.Equal(t, []any{1, "podberth", "test", instructions}, []any{answer.ID, answer.Result.ServerInfo.Name, answer.Result.ServerInfo.Version, answer.Result.Instructions})
}

// What a tool leaves out is said in the data, beside the data.
func TestIncomplete(t *testing.T) {
	half := tool{name: "half", ask: func(q *question, _ *input) (reply, error) {
		q.incomplete = "the other half"
		return reply{data: map[string]int{"half": 1}, lines: []string{"half"}}, nil
	}}
	o := fileOptions(shipped)
	o.Size, o.Patience = DefaultSize, patience
	r, err := (&asker{o: o, now: nowForTests}).call(t.Context(), half, nil)
	require.NoError(t, err)
	s := heard(t, r)
	require.Equal(t, []any{1.0, "the other half"}, []any{s.data["half"], s.data["incomplete"]})
}

// Every argument that is a text has a longest length.
func TestLongArguments(t *testing.T) {
	c := connect(t, fileOptions(shipped))
	long := strings.Repeat("a", mostArgument+1)
	for name, x := range map[string]struct {
		tool string
		a    args
	}{
		"pod": {"why_pod", args{"pod": long}}, "node": {"why_pod", args{"pod": "p", "node": long}}, "workload": {"why_no_pods", args{"workload": long}},
		"template": {"fit", args{"template": long}}, "leader": {"fit", args{"pod": "p", "leader": long}}, "namespace": {"overview", args{"namespace": long}},
		"nodes": {"drain", args{"nodes": []string{"n", long}}},
	} {
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: x.tool, Arguments: x.a})
		require.NoError(t, err)
		require.True(t, heard(t, r).bad)
		require.True(t, strings.HasPrefix(heard(t, r).text, name+": Too long: at most 512 bytes"), heard(t, r).text)
	}
}
