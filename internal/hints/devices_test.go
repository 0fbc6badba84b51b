package hints_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/hints"
)

// An event with an object of another type is an error, which names both types and the type that was expected.
func TestUnexpectedObjects(t *testing.T) {
	hint := hints.Pod(nil)
	for _, c := range []struct {
		old, new any
		want     string
	}{
		{&v1.Node{}, &v1.Pod{}, "unexpected objects: *v1.Node and *v1.Pod, expected *v1.Pod"},
		{&v1.Pod{}, &v1.Service{}, "unexpected objects: *v1.Pod and *v1.Service, expected *v1.Pod"},
	} {
		helps, err := hint(&v1.Pod{}, c.old, c.new)
		require.EqualError(t, err, c.want)
		require.False(t, helps)
	}
}
