// Package page (experimental) writes an answer as one HTML file that needs no network: the nodes as a map by zone and utilisation, the pods
// beside the map, the verdict of every plugin about every node, scores as stacked bars, the skew of spread constraints, and what
// happens when as a timeline.
//
//	p := page.New("Where the waiting pods go", nodes, pods)
//	p.Tell(page.Pod{Name: "shop/web-0", State: "Unschedulable", Message: message})
//	p.Explain("shop/web-0", page.VerdictOf(table, answer, skews))
//	err := p.Write(os.Stdout)
//
// The file has the data as JSON, a stylesheet and a script. A browser draws only what is visible, so that a page of 5,000 nodes and
// 50,000 pods answers at once. Names and messages come from the cluster: they are escaped in the file and written as text by the
// script, and a content security policy allows no other script. The page decides nothing.
//
// A [Page] is for one goroutine. It keeps the nodes and pods that it is given and does not change them.
package page
