package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A package may link as many third-party packages as its row allows. A package without a row may link heaviest. A package
// that reads claims (resource/v1) or Jobs (batch/v1) may link heaviestWithAPI.
const (
	heaviest        = 73
	heaviestWithAPI = 78
)

// thirdParty has a row for every package that must not link more packages than it does.
var thirdParty = map[string]int{
	"affinity":            63,
	"eviction":            0,
	"eviction/disruption": 64,
	"eviction/pressure":   64,
	"eviction/taint":      63,
	"overhead":            64,
	"overhead/kubelet":    64,
	"overhead/quota":      64,
	"preemption":          69,
	"queue":               68,
	"score":               64,
	"spread":              68,
	"taints":              63,
}

// No library package links more third-party packages than its limit.
func TestWeight(t *testing.T) {
	own, all := library(t)
	for _, p := range own {
		folder := strings.TrimPrefix(p.ImportPath, module+"/")
		limit, ok := thirdParty[folder]
		switch {
		case ok:
		case slices.Contains(p.Deps, "k8s.io/api/resource/v1"), slices.Contains(p.Deps, "k8s.io/api/batch/v1"):
			limit = heaviestWithAPI
		default:
			limit = heaviest
		}
		n := 0
		for _, d := range p.Deps {
			if !all[d].Standard && d != module && !strings.HasPrefix(d, module+"/") {
				n++
			}
		}
		if n > limit {
			t.Errorf("%s links %d third-party packages, %d are allowed", folder, n, limit)
		}
	}
}

// The documentation has the limits of this test.
func TestWeightInDocumentation(t *testing.T) {
	promise := fmt.Sprintf("at most %d third-party packages (%d where claims or Jobs are read)", heaviest, heaviestWithAPI)
	for _, file := range []string{"README.md", "SCOPE.md", "docs/design.md"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		require.Contains(t, strings.Join(strings.Fields(string(text)), " "), promise, file)
	}
}
