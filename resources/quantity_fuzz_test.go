package resources_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// Human of memory has the largest unit that is not above n, and n in it rounded down to hundredths.
func FuzzHuman(f *testing.F) {
	f.Add([]byte("quantity"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			n := int64(b.Uint64()) >> b.Below(64)
			require.Equal(t, humanSlow(n), resources.Human("memory", n), "%d", n)
		}
	})
}

func humanSlow(n int64) string {
	hundredths, unit := new(big.Int).Mul(big.NewInt(n), big.NewInt(100)), ""
	size := big.NewInt(1)
	for _, name := range []string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"} {
		next := new(big.Int).Lsh(size, 10)
		if big.NewInt(n).CmpAbs(next) < 0 {
			break
		}
		size, unit = next, name
	}
	hundredths.Quo(hundredths, size) // towards 0
	sign := ""
	if hundredths.Sign() < 0 {
		sign = "-"
	}
	whole, rest := new(big.Int).QuoRem(hundredths.Abs(hundredths), big.NewInt(100), new(big.Int))
	text := sign + whole.String() + "." + string([]byte{'0' + byte(rest.Int64()/10), '0' + byte(rest.Int64()%10)})
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + unit
}
