package extender

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// Random requests, held against a list: the nodes of the input and the nodes of the latest requests are known, by name among nodes of
// one request. A node is replaced when it differs, unless it has the resource version of the known node.
func TestKnownNodes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s, _ := start(t, nil)
	w := s.world()
	const limit = 8
	w.shared.limit = limit
	latest := map[string]int{} // by node that the input lacks: the last request
	colours := map[string]string{}
	versions := map[string]string{}
	for _, name := range all {
		colours[name], versions[name] = "", ""
	}
	for request := range 2000 {
		list := &v1.NodeList{}
		names := append(slices.Clone(all), "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "y1", "y2", "y3")
		random.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
		for _, name := range names[:random.IntN(6)] {
			n := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"colour": fmt.Sprint(random.IntN(3))}}}
			if random.IntN(2) == 0 {
				n.ResourceVersion = fmt.Sprint(random.IntN(3))
			}
			list.Items = append(list.Items, n)
			if _, known := colours[name]; !known || n.ResourceVersion == "" || n.ResourceVersion != versions[name] {
				colours[name], versions[name] = n.Labels["colour"], n.ResourceVersion
			}
			if !slices.Contains(all, name) {
				latest[name] = request
			}
		}
		for len(latest) > limit {
			oldest := ""
			for name, of := range latest {
				if oldest == "" || of < latest[oldest] || of == latest[oldest] && name < oldest {
					oldest = name
				}
			}
			delete(latest, oldest)
			delete(colours, oldest)
			delete(versions, oldest)
		}
		require.NoError(t, w.learn(&extenderv1.ExtenderArgs{Pod: podAsking("1"), Nodes: list}))
		require.Len(t, w.snapshot.Order(), len(colours))
		for name, colour := range colours {
			slot := w.snapshot.Slot(name)
			require.GreaterOrEqual(t, slot, 0, name)
			require.Equal(t, colour, w.snapshot.Node(slot).Labels["colour"], name)
			require.Equal(t, versions[name], w.snapshot.Node(slot).ResourceVersion, name)
		}
	}
}

// A node without a name is an error that says where it stands in the request. The nodes of earlier steps stay.
func TestNamelessNode(t *testing.T) {
	for _, at := range []int{0, 1, nodesPerStep - 1, nodesPerStep, nodesPerStep + 1, 3 * nodesPerStep} {
		s, _ := start(t, nil)
		w := s.world()
		list := &v1.NodeList{}
		for k := range at {
			list.Items = append(list.Items, v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("x", k)}})
		}
		list.Items = append(list.Items, v1.Node{})
		err := w.learn(&extenderv1.ExtenderArgs{Pod: podAsking("1"), Nodes: list})
		require.ErrorAs(t, err, new(badRequest))
		require.EqualError(t, err, fmt.Sprintf("Nodes.items[%d].metadata.name: Required value: a node needs a name", at))
		require.Len(t, w.snapshot.Order(), len(all)+at)
	}
}

// Requests are refused before their nodes are taken in: those without a pod, of an unknown profile, or with too many nodes.
func TestRefusedBeforeLearning(t *testing.T) {
	s, _ := start(t, nil)
	w := s.world()
	list := &v1.NodeList{Items: []v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "new"}}}}
	require.ErrorAs(t, w.learn(&extenderv1.ExtenderArgs{Nodes: list}), new(badRequest))
	w.shared.limit = 0
	list.Items = make([]v1.Node, 1000)
	for k := range list.Items {
		list.Items[k].Name = "node-1"
	}
	require.NoError(t, w.learn(&extenderv1.ExtenderArgs{Pod: podAsking("1"), Nodes: list}), "no limit")
	require.Equal(t, -1, w.snapshot.Slot("new"))
}

// Without a limit no node of a request is forgotten. A request without news takes nothing in.
func TestLearnWithoutLimit(t *testing.T) {
	s, _ := start(t, nil)
	w := s.world()
	w.shared.limit = 0
	list := &v1.NodeList{Items: []v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "x1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "x2"}}}}
	require.True(t, w.differs(list.Items))
	for range 2 {
		require.NoError(t, w.learn(&extenderv1.ExtenderArgs{Pod: podAsking("1"), Nodes: list}))
		require.False(t, w.differs(list.Items))
		require.Len(t, w.snapshot.Order(), len(all)+2)
	}
	changed := list.DeepCopy().Items
	changed[1].Labels = map[string]string{"a": "b"}
	require.True(t, w.differs(changed))
}

// Plans are made once and used again by later requests.
func TestPlansAreGivenBack(t *testing.T) {
	s, h := start(t, nil)
	require.Len(t, s.world().shared.free, 1)
	for range 3 {
		status, _ := post(t, h.URL, strings.NewReader(small))
		require.Equal(t, http.StatusOK, status)
		require.Len(t, s.world().shared.free, 1)
	}
}

// The nodes of a request are kept as they came: its answer, which leaves nodes out, does not change them.
func TestNodesOutliveTheirAnswer(t *testing.T) {
	_, h := start(t, func(o *Options) { o.MaxNodes = 9 })
	pod := func(zone string) string {
		return `"Pod":{"metadata":{"name":"p","namespace":"default"},"spec":{"nodeSelector":{"zone":"` + zone + `"},"containers":[{"name":"c","image":"i"}]}}`
	}
	node := func(zone string) string {
		return `{"metadata":{"name":"in-` + zone + `","labels":{"zone":"` + zone + `"}},"status":{"allocatable":{"pods":"9"}}}`
	}
	status, text := post(t, h.URL, strings.NewReader(`{`+pod("b")+`,"Nodes":{"items":[`+node("a")+","+node("b")+`]}}`))
	require.Equal(t, http.StatusOK, status, text)
	status, text = post(t, h.URL, strings.NewReader(`{`+pod("a")+`,"NodeNames":["in-a","in-b"]}`))
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `"NodeNames":["in-a"]`)
}
