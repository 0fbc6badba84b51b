package mcp

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The ten examples of the page for agents, each a question after ">" and the first lines of the answer's text, are what the shipped cluster
// gives. Together they use every tool.
func TestExamplesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/agents.md")
	require.NoError(t, err)
	_, examples, found := strings.Cut(string(page), "## Ten examples")
	require.True(t, found)
	c := connect(t, fileOptions(shipped))
	asked, compared, used := 0, 0, map[string]bool{}
	var left []string // of the answer
	for line := range strings.Lines(examples) {
		line = strings.TrimSpace(line)
		switch question, is := strings.CutPrefix(line, "> "); {
		case is:
			tool, arguments, _ := strings.Cut(question, " ")
			var a args
			require.NoError(t, json.Unmarshal([]byte(arguments), &a), line)
			s := ask(t, c, tool, a)
			require.False(t, s.bad, s.text)
			left = strings.Split(s.text, "\n")
			asked, used[tool] = asked+1, true
		case line == "```":
			left = nil
		case left != nil:
			require.Equal(t, left[0], line)
			left, compared = left[1:], compared+1
		}
	}
	require.Equal(t, 10, asked)
	require.GreaterOrEqual(t, compared, asked)
	require.Len(t, used, len(tools))
}
