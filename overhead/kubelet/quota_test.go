package kubelet

import (
	"math"
	"math/big"
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// The quota is limit * period / 1000 without a fraction, at least 1000, and 0 without a limit. A product beyond int64 is its end.
func FuzzQuota(f *testing.F) {
	f.Add([]byte("limits and periods"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			period := testkit.Pick[int64](b, 1, 2, 1000, 100000, 1<<20, math.MaxInt32, math.MaxInt64)
			milli := testkit.Pick(b, 0, 1, 1000, math.MaxInt64/period, math.MaxInt64-8) + int64(b.Below(9))
			product := new(big.Int).Mul(big.NewInt(milli), big.NewInt(period))
			if !product.IsInt64() {
				product.SetInt64(math.MaxInt64)
			}
			want := max(1000, product.Int64()/1000)
			if milli == 0 {
				want = 0
			}
			if got := quotaMicros(milli, period); want != got {
				t.Fatalf("%d of %d: want %d, got %d", milli, period, want, got)
			}
		}
	})
}
