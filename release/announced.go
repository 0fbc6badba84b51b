package release

import "slices"

// Announcement is a change that Kubernetes has announced for a release that podberth does not follow yet. Nobody has compared it with
// the code of that release.
type Announcement struct {
	// Release is the release, such as "1.38".
	Release string
	// Name says in a few words what changes.
	Name string
	// Sentence says what is announced.
	Sentence string
	// Gate is the feature gate that turns the change on or off.
	Gate string
}

// Announced returns what is announced for a release after the last of [Versions], as a new slice: nil for any other release. text is read as
// [Parse] reads it; "" is all such releases. The list is for people: no option follows an entry before it is a [Difference].
func Announced(text string) []Announcement {
	return slices.DeleteFunc(announced(), func(a Announcement) bool { return text != "" && !isOf(text, a.Release) })
}

func announced() []Announcement {
	return []Announcement{
		{"1.38", "groups of pods", "Pods that belong to a PodGroup are scheduled together by default.", "GenericWorkload"},
		{"1.38", "fractions of capacity", "The ranges of a device's capacity keep fractions, such as a request of 500m, by default.", "DRAFractionalCapacityRange"},
		{"1.38", "topology of groups", "Placing a group of pods inside one topology domain becomes beta.", "TopologyAwareWorkloadScheduling"},
		{"1.38", "groups of groups", "PodGroups that are made of other groups become beta.", "CompositePodGroup"},
	}
}
