package place

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

// The search for remedies tries changes of claims, volumes and pods in copies: the objects of each cluster of the corpus are the same afterwards.
func TestAdviceChangesNoObject(t *testing.T) {
	files, err := filepath.Glob("../../diagnose/testdata/advice/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			o, err := dump.Read([]string{"-"}, strings.NewReader(string(text)), dump.Options{})
			require.NoError(t, err)
			in := dump.Hold(o)
			var all []runtime.Object
			for _, n := range o.Nodes {
				all = append(all, n)
			}
			for _, p := range o.Pods {
				all = append(all, p)
			}
			for x := range o.Others() {
				all = append(all, x.(runtime.Object))
			}
			var out, errs strings.Builder
			testkit.Unchanged(t, func() {
				Run(t.Context(), append([]string{"-f", "-", "-explain"}, strings.Fields(headers(string(text))["ask"])...), in, &out, &errs)
			}, all...)
			require.NotEmpty(t, out.String(), errs.String())
		})
	}
}
