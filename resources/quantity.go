package resources

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Limits of the text of a quantity.
const (
	MaxQuantityLength   = 64 // characters, without blanks at both ends
	MaxQuantityExponent = 99 // value of the exponent after e or E, of either sign
)

// CheckQuantity returns an error when the text of a quantity is longer than [MaxQuantityLength] or its exponent is beyond
// [MaxQuantityExponent]. It does not say whether the text is a quantity. It accepts every usual notation of a quantity that an int64
// can hold, also in thousandths or billionths.
//
// [resource.ParseQuantity] computes powers of ten of any size: it takes minutes for the text 1e999999999. CheckQuantity reads only the
// text, in linear time.
func CheckQuantity(text string) error {
	text = strings.TrimSpace(text)
	if len(text) > MaxQuantityLength {
		return fmt.Errorf("must be a quantity of at most %d characters", MaxQuantityLength)
	}
	if HugeExponent(text) {
		return fmt.Errorf("must be a quantity with an exponent between -%d and %d", MaxQuantityExponent, MaxQuantityExponent)
	}
	return nil
}

// HugeExponent reports whether text is a number with an exponent beyond [MaxQuantityExponent].
func HugeExponent[T string | []byte](text T) bool {
	at := digits(text, 0)
	if at == 0 || at == len(text) || text[at]|0x20 != 'e' {
		return false
	}
	at++
	if at < len(text) && (text[at] == '+' || text[at] == '-') {
		at++
	}
	for at < len(text) && text[at] == '0' {
		at++
	}
	exponent := len(text) - at
	for at < len(text) && text[at] >= '0' && text[at] <= '9' {
		at++
	}
	return exponent > 2 && at == len(text)
}

// digits returns the end of the signs, digits and points that begin at from.
func digits[T string | []byte](text T, from int) int {
	for from < len(text) {
		if c := text[from]; (c < '0' || c > '9') && c != '.' && c != '+' && c != '-' {
			break
		}
		from++
	}
	return from
}

// ParseQuantity is resource.ParseQuantity for text that [CheckQuantity] allows. Any other text is an error at once.
func ParseQuantity(text string) (resource.Quantity, error) {
	if err := CheckQuantity(text); err != nil {
		return resource.Quantity{}, err
	}
	return resource.ParseQuantity(text)
}
