package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/podberth/podberth/tools/report"
)

// Bounds of an answer besides its size.
const (
	mostItems = 20  // of a list
	mostText  = 600 // bytes of a text
	mostLines = 5
	mostLine  = 240 // bytes
)

// result puts an answer together: clean, with short lists, and no larger than Options.Size.
func (a *asker) result(e *envelope, r reply) (*sdk.CallToolResult, error) {
	if e.Warnings == nil {
		e.Warnings = []string{}
	}
	tree := map[string]any{}
	for _, part := range []any{r.data, e} {
		data, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&tree); err != nil {
			return nil, err
		}
	}
	var lines []string
	size := 0
	for _, line := range r.lines[:min(mostLines, len(r.lines))] {
		line = cut(report.Escape(line), mostLine)
		lines = append(lines, line)
		size += len(line) + 1
	}
	if err := fit(tree, a.o.Size-min(size, a.o.Size/4)); err != nil {
		return nil, err
	}
	text := cut(strings.Join(lines, "\n"), a.o.Size/4)
	return &sdk.CallToolResult{StructuredContent: tree, Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
}

// fit cleans a tree and cuts its lists and texts until it has at most size bytes. What goes is counted in "omitted".
func fit(tree map[string]any, size int) error {
	items, text := mostItems, mostText
	for {
		omitted := map[string]int{}
		small := shrink(tree, "", items, text, omitted).(map[string]any)
		if len(omitted) > 0 {
			small["omitted"] = omitted
		}
		data, err := json.Marshal(small)
		if err != nil {
			return err
		}
		if len(data) <= size {
			clear(tree)
			maps.Copy(tree, small)
			return nil
		}
		switch {
		case items > 5:
			items--
		case text > 120:
			text -= 60
		case items > 1:
			items--
		case text > 20:
			text -= 20
		default:
			return fmt.Errorf("the answer does not fit into %d bytes", size)
		}
	}
}

// shrink returns a copy of a tree with clean texts of at most some bytes and lists of at most some items.
func shrink(v any, path string, items, text int, omitted map[string]int) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name := cut(report.Escape(key), text)
			out[name] = shrink(v[key], strings.TrimPrefix(path+"."+name, "."), items, text, omitted)
		}
		return out
	case []any:
		n := min(items, len(v))
		if n < len(v) {
			omitted[path] += len(v) - n
		}
		out := make([]any, n)
		for k := range out {
			out[k] = shrink(v[k], path, items, text, omitted)
		}
		return out
	case string:
		return cut(report.Escape(v), text)
	}
	return v
}

// cut shortens a text to some bytes at the end of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:max(0, most-len(more))], "") + more
}
