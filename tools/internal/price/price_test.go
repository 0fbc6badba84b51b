package price

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

func TestOf(t *testing.T) {
	type test struct {
		name, why, text string
		want            int64 // -1: an error
	}
	testkit.Run(t, []test{
		{"a decimal", "as clouds write prices", "0.096", 96_000},
		{"a whole number", "no point is needed", "3", 3_000_000},
		{"nothing", "a node may be free", "0", 0},
		{"the largest", "sums of 9,000 such nodes still fit an int64", "1000000000", 1_000_000_000_000_000},
		{"too large", "above the largest", "1000000001", -1},
		{"an exponent", "it can be too long to write out", "1e9", -1},
		{"seven decimals", "below the unit", "0.0000001", -1},
		{"negative", "nobody is paid for a node", "-1", -1},
		{"a word", "not a number", "cheap", -1},
	}, func(t *testing.T, c test) {
		got, err := Of(testkit.Node("n1").Label("p", c.text).Obj(), "p")
		if c.want < 0 {
			require.EqualError(t, err, `node n1: metadata.labels[p]: Invalid value: "`+c.text+`": must be a number from 0 to 1000000000 with at most six decimals`)
			return
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	})
	_, err := Of(testkit.Node("n1").Obj(), "p")
	require.EqualError(t, err, "node n1: metadata.labels[p]: Required value: the price of the node")
	require.Equal(t, "1.096", Text(big.NewInt(1_096_000)))
	require.Equal(t, "20", Text(big.NewInt(20_000_000)))
}
