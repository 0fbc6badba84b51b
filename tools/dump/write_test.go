package dump

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// What Write writes is what Read reads, in both forms.
func TestWrite(t *testing.T) {
	objects := []map[string]any{
		{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n1"}},
		{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web", "namespace": "shop"}},
	}
	for _, asJSON := range []bool{false, true} {
		var b bytes.Buffer
		var steps []int
		require.NoError(t, Write(&b, objects, asJSON, func(done int) { steps = append(steps, done) }))
		require.Equal(t, []int{1, 2}, steps)
		o, err := Read([]string{"-"}, &b, Options{Strict: true})
		require.NoError(t, err)
		var kinds []string
		for kind, object := range o.All() {
			kinds = append(kinds, kind.String()+" "+object.GetName())
		}
		require.Equal(t, []string{"/v1, Kind=Node n1", "/v1, Kind=Pod web"}, kinds)
	}
	require.NoError(t, Write(&bytes.Buffer{}, nil, true, nil))
	require.NoError(t, Write(&bytes.Buffer{}, objects, false, nil))
	require.ErrorContains(t, Write(&bytes.Buffer{}, []map[string]any{{"a": func() {}}}, true, nil), "unsupported type")
	require.ErrorContains(t, Write(full{}, objects, true, nil), "full")
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }
