package place

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// docs/json.md describes every field that is printed.
func TestJSONIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/json.md")
	require.NoError(t, err)
	type test struct {
		name, input string
		args        []string
	}
	testkit.Run(t, []test{
		{"simulation", "", []string{"-f", shop}},
		{"detail", "", []string{"-f", shop, "-detail"}},
		{"refused", documents(oneNode, noClass), []string{"-f", "-"}},
		{"preempted", crowd(), []string{"-f", "-"}},
		{"explained, placed", "", []string{"-f", shop, "-explain", "shop/web-6d4b75cb6d-q6kxd"}},
		{"explained, rejected", "", []string{"-f", shop, "-explain", "data/postgres-3"}},
		{"explained, devices", "", []string{"-f", "testdata/devices.yaml", "-explain", "ml/train-0"}},
		{"explained, elsewhere", "", []string{"-f", shop, "-explain", "shop/web-6d4b75cb6d-q6kxd", "-where", "topology.kubernetes.io/zone=eu-1b"}},
		{"explained, gated", "", []string{"-f", shop, "-explain", "shop/cart-canary"}},
		{"how many", "", []string{"-f", shop, "-how-many", "shop/web-6d4b75cb6d-q6kxd"}},
		{"how many, none", "", []string{"-f", shop, "-how-many", "data/postgres-3"}},
		{"packed", pieces, []string{"-f", "-", "-pack"}},
		{"packed, shop", "", []string{"-f", shop, "-pack"}},
		{"two configurations", "", []string{"-f", shop, "-against", "testdata/most-allocated.yaml"}},
		{"how many, claims", "", []string{"-f", "testdata/volumes.yaml", "-how-many", "shop/lost-0"}},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, c.input, append(c.args, "-o", "json")...)
		require.Zero(t, code, errs)
		missing, err := report.Undocumented(string(page), []byte(out))
		require.NoError(t, err)
		require.Empty(t, missing)
		require.NotContains(t, out, ": null")
	})
}

// -detail of one pod does not print the nodes of all.
func TestDetailOfOnePod(t *testing.T) {
	code, out, errs := simulate(t, "", "-f", shop, "-o", "json", "-detail=data/postgres-3", "-detail=shop/web-6d4b75cb6d-q6kxd")
	require.Zero(t, code, errs)
	var have struct {
		Attempts []struct {
			Pod   string
			Nodes []any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	var with []string
	for _, e := range have.Attempts {
		if len(e.Nodes) > 0 {
			require.Len(t, e.Nodes, 12)
			with = append(with, e.Pod)
		}
	}
	require.Equal(t, []string{"shop/web-6d4b75cb6d-q6kxd", "data/postgres-3"}, with)
	code, _, errs = simulate(t, "", "-f", shop, "-o", "json", "-detail=data/postgres-4")
	require.Equal(t, program.BadInput, code)
	require.True(t, strings.HasPrefix(errs, `place: -detail: Not found: "data/postgres-4": no pod of that namespace and name; near: data/postgres-`), errs)
}
