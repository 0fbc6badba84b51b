package release_test

import (
	"fmt"

	"github.com/podberth/podberth/release"
)

// What changes in the scores when a cluster goes from v1.36 to v1.37?
func ExampleBetween() {
	from, err := release.Parse("v1.36.3")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range release.Between(from, release.V1_37) {
		if d.Area == "scores" {
			fmt.Println(d.ID, d.Name)
			fmt.Println(d.Sentence)
			fmt.Printf("%s -> %s\n", d.In(from), d.In(release.V1_37))
		}
	}
	// Output:
	// L5.2 image volumes in ImageLocality
	// Since v1.36 image volumes count in the sum of sizes; v1.37 also raises the size that scores 100, by 1000Mi for each of them.
	// counted in the sum -> counted in the sum and in the limit
}
