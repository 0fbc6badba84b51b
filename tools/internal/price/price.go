// Package price reads prices of nodes from their labels.
package price

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// unit is the number of units in one: prices have six decimals.
const unit = 1_000_000

var form = regexp.MustCompile(`^[0-9]{1,10}(\.[0-9]{1,6})?$`)

// Of returns the price in the label of a node in millionths. The errors name the node and the label.
func Of(n *v1.Node, label string) (int64, error) {
	text, ok := n.Labels[label]
	if !ok {
		return 0, fmt.Errorf("node %s: metadata.labels[%s]: Required value: the price of the node", n.Name, label)
	}
	r := new(big.Rat)
	if ok = form.MatchString(text); ok {
		r.SetString(text)
		r.Mul(r, big.NewRat(unit, 1))
	}
	if !ok || r.Num().Int64() > 1e15 {
		return 0, fmt.Errorf("node %s: metadata.labels[%s]: Invalid value: %q: must be a number from 0 to 1000000000 with at most six decimals", n.Name, label, text)
	}
	return r.Num().Int64(), nil
}

// Text writes a sum of prices.
func Text(n *big.Int) string {
	text := new(big.Rat).SetFrac(n, big.NewInt(unit)).FloatString(6)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}
