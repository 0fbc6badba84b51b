package report_test

import (
	"fmt"
	"math/big"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/examples/report"
)

func ExampleColumns() {
	fmt.Print(report.Columns([]string{"POD", "NODE"}, [][]string{{"web", "n1"}, {"db", "n3"}}))
	// Output:
	// POD   NODE
	// web   n1
	// db    n3
}

func ExampleData() {
	out, err := report.Data("yaml", map[string]string{"pod": "web", "node": "n1"})
	if err != nil {
		panic(err)
	}
	fmt.Print(string(out))
	// Output:
	// node: n1
	// pod: web
}

func ExampleAmount() {
	fmt.Println(report.Amount(v1.ResourceCPU, big.NewInt(1500)))
	fmt.Println(report.Amount(v1.ResourceMemory, big.NewInt(3<<30)))
	fmt.Println(report.Short("7.123456Gi"), report.Short("12345678901"))
	// Output:
	// 1500m
	// 3Gi
	// 7.1Gi 11.5Gi
}
