package resources_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
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
		{"three digits", "one more than the largest exponent", "1e100", true},
		{"no number before e", "only numbers have exponents", "e1000", false},
		{"a suffix with digits behind", "d and x are no e", "1d1000", false},
		{"another letter", "d and x are no e", "1x1000", false},
		{"letters behind", "nothing may follow an exponent", "1e1000x", false},
		{"a slash in the exponent", "it is no digit", "1e10/00", false},
		{"a colon in the exponent", "it is no digit", "1e10:00", false},
		{"a slash in the number", "it is no digit", "1/2e1000", false},
		{"a colon in the number", "it is no digit", "1:2e1000", false},
		{"longest", "64 characters", strings.Repeat("1", 64), false},
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
		require.Equal(t, c.refused, resources.CheckQuantity(c.text) != nil, c.text)
	})
}

// The errors name the limits.
func TestCheckErrors(t *testing.T) {
	require.EqualError(t, resources.CheckQuantity(strings.Repeat("1", 65)), "must be a quantity of at most 64 characters")
	require.EqualError(t, resources.CheckQuantity("1e100"), "must be a quantity with an exponent between -99 and 99")
}

// text makes the text of a quantity, mostly one that is accepted.
func text(b *testkit.Bytes) string {
	if b.OneIn(16) { // anything at all
		var out []byte
		for b.More() {
			out = append(out, b.Next())
		}
		return string(out)
	}
	digits := func(most int) (out string) {
		for range b.Below(most) {
			out += testkit.Pick(b, "0", "1", "2", "5", "9")
		}
		return out
	}
	out := testkit.Pick(b, "", "", "-", "+", " ") + testkit.Pick(b, "0", "1", "7") + digits(20)
	if b.OneIn(3) {
		out += "." + digits(12)
	}
	switch b.Below(4) {
	case 0:
		out += testkit.Pick(b, "m", "u", "n", "k", "M", "G", "T", "P", "E", "")
	case 1:
		out += testkit.Pick(b, "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "")
	case 2:
		out += testkit.Pick(b, "e", "E") + testkit.Pick(b, "", "-", "+", "0", "000") + testkit.Pick(b, "1", "3", "9", "18", "99", "100", "999999999")
	}
	if b.OneIn(16) {
		out += testkit.Pick(b, " ", "\n", "i", "e", "9", strings.Repeat("1", 60))
	}
	return out
}

// checkParse holds that Parse parses what Check accepts quickly, with the result of resource.ParseQuantity. It reports whether
// there was a quantity.
func checkParse(t *testing.T, text string) bool {
	t.Helper()
	got, err := resources.ParseQuantity(text)
	if resources.CheckQuantity(text) != nil {
		require.Error(t, err)
		return false
	}
	want, wantErr := resource.ParseQuantity(text)
	require.Equal(t, wantErr, err)
	require.Zero(t, want.Cmp(got))
	return err == nil
}

func TestTexts(t *testing.T) {
	for _, s := range []string{"1", "-1", "1e99", "1e999999999", "500m", "1.5Gi", "12E", "1e-99", "0.1e+7", "x"} {
		checkParse(t, s)
	}
	const inputs = 2000
	reached := 0
	for seed := range uint64(inputs) {
		if checkParse(t, text(testkit.NewBytes(testkit.RandomBytes(seed, 48)))) {
			reached++
		}
	}
	t.Logf("%d of %d inputs are quantities", reached, inputs)
	require.Greater(t, 2*reached, inputs, "the fuzz target compares at least half of its inputs")
}

func FuzzParse(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(testkit.RandomBytes(seed, 48))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkParse(t, text(testkit.NewBytes(data))) })
}
