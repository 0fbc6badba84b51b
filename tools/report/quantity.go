package report

import (
	"fmt"
	"math/big"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/resources"
)

// Amount returns n of a resource as people write it: "500m" of cpu, "30.5Gi" of resources in bytes, and whole numbers of
// every other resource. The unit of n is that of package resources: thousandths of cpu, bytes, or whole numbers. Bytes have
// at most two decimals, rounded down. An amount beyond int64 is a plain number.
func Amount(name v1.ResourceName, n *big.Int) string {
	if !n.IsInt64() {
		return n.String()
	}
	return resources.Human(string(name), n.Int64())
}

// Short rounds the text of a quantity to tenths of Gi, for tables. Texts of at most eight characters, and texts that are no
// quantity, stay as they are.
func Short(text string) string {
	if len(text) <= 8 {
		return text
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return text
	}
	return strings.Replace(fmt.Sprintf("%.1fGi", q.AsApproximateFloat64()/(1<<30)), ".0Gi", "Gi", 1)
}
