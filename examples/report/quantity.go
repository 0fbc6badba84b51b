package report

import (
	"fmt"
	"math/big"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Amount returns n, an amount of the named resource in the unit of package resources, as a quantity: thousandths of cpu,
// bytes of memory and ephemeral-storage, whole numbers of every other resource. An amount beyond int64 is a plain number.
func Amount(name v1.ResourceName, n *big.Int) string {
	if !n.IsInt64() {
		return n.String()
	}
	switch name {
	case v1.ResourceCPU:
		return resource.NewMilliQuantity(n.Int64(), resource.DecimalSI).String()
	case v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return resource.NewQuantity(n.Int64(), resource.BinarySI).String()
	}
	return n.String()
}

// Short rounds the text of a quantity of more than eight characters to tenths of Gi, for tables. Shorter texts, and those
// that are no quantity, stay as they are.
func Short(quantity string) string {
	if len(quantity) <= 8 {
		return quantity
	}
	q, err := resource.ParseQuantity(quantity)
	if err != nil {
		return quantity
	}
	return strings.Replace(fmt.Sprintf("%.1fGi", q.AsApproximateFloat64()/(1<<30)), ".0Gi", "Gi", 1)
}
