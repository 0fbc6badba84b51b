package plugins

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Weights refuses weights whose sum leaves int64, or is below 0 before the last.
func FuzzWeights(f *testing.F) {
	f.Add([]byte("weights of some plugins, of which the last are huge"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			type entry struct {
				name   string
				weight int64
			}
			var entries []entry
			sum, fits := new(big.Int), true
			for k := range b.Below(5) {
				w := testkit.Pick(b, 1, -1, math.MaxInt64/100, math.MinInt64/100, math.MaxInt64/200, int64(b.Uint64())>>b.Below(64)) + int64(b.Below(3)) - 1
				entries = append(entries, entry{string(rune('a' + k)), w})
				if w == 0 {
					w = 1
				}
				times := new(big.Int).Mul(big.NewInt(w), big.NewInt(100))
				fits = fits && sum.Sign() >= 0 && times.IsInt64()
				fits = fits && sum.Add(sum, times).IsInt64()
			}
			got, err := Weights(nil, entries, func(e entry) (string, int64) { return e.name, e.weight }, func(string) bool { return true })
			require.Equal(t, fits, err == nil, "%v", entries)
			require.True(t, err != nil || len(got) == len(entries))
		}
	})
}
