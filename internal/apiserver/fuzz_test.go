package apiserver_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
	"github.com/podberth/podberth/internal/testkit"
)

// An amount of huge pages is a multiple of a page size that is positive.
func FuzzHugePages(f *testing.F) {
	f.Add([]byte("some pages"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			size := testkit.Pick(b, "2Mi", "1Gi", "0", "-2Mi", "x", "", "2", "3Ki", "1e400")
			amount := resource.NewQuantity(int64(b.Below(9))*testkit.Pick(b, int64(1<<21), 1<<30, 1, 3<<10, 1<<20), resource.BinarySI)
			list := v1.ResourceList{v1.ResourceName(v1.ResourceHugePagesPrefix + size): *amount, v1.ResourceCPU: resource.MustParse("1")}
			errs := apiserver.ValidateResources(list, nil, func(v1.ResourceName, *field.Path) field.ErrorList { return nil }, field.NewPath("r"))
			require.Equal(t, !multiple(amount.Value(), size), len(errs) > 0, "%s of %s: %v", amount, size, errs)
		}
	})
}

func multiple(amount int64, size string) bool {
	pages := map[string]int64{"2Mi": 1 << 21, "1Gi": 1 << 30, "2": 2, "3Ki": 3 << 10}[strings.TrimSpace(size)]
	return pages > 0 && new(big.Int).Mod(big.NewInt(amount), big.NewInt(pages)).Sign() == 0
}
