package quantity

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
)

func TestCheck(t *testing.T) {
	testkit.Run(t, []struct {
		name, why, text string
		refused         bool
	}{
		{"plain", "no exponent", "4", false},
		{"binary suffix", "E of Ei is no exponent", "7Ei", false},
		{"decimal suffix", "E alone means 10^18", "7E", false},
		{"largest int64", "19 digits", "9223372036854775807", false},
		{"small exponent", "two digits", "1e18", false},
		{"exponent with zeros", "leading zeros do not count", "1e0003", false},
		{"negative exponent", "two digits", "1E-09", false},
		{"empty", "whether it is a quantity is not the question", "", false},
		{"no quantity", "a UID may begin like a number", "1e1234-5678", false},
		{"largest exponent", "the limit itself", "1e99", false},
		{"huge exponent", "parsing works out the power", "1e999999999", true},
		{"capital", "E is an exponent as well", "1E999999999", true},
		{"tiny", "a negative exponent takes as long", "1e-999999999", true},
		{"signed", "the sign of the number is no way around", "-0.5e+000100", true},
		{"blanks", "decoding trims them", " 1e999999999\n", true},
		{"long", "the cost of a number grows with the square of its digits", strings.Repeat("1", 65), true},
	}, func(t *testing.T, c struct {
		name, why, text string
		refused         bool
	}) {
		require.Equal(t, c.refused, Check(c.text) != nil, c.text)
	})
}

// Parse parses what Check accepts quickly, and with the result of resource.ParseQuantity.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1", "-1", "1e99", "1e999999999", "500m", "1.5Gi", "12E", "1e-99", "0.1e+7", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text)
		if Check(text) != nil {
			require.Error(t, err)
			return
		}
		want, wantErr := resource.ParseQuantity(text)
		require.Equal(t, wantErr, err)
		require.Zero(t, want.Cmp(got))
	})
}
