// Package admission (experimental) does to pods and nodes what the API server and the controllers do before the scheduler sees them: it
// resolves priorities, adds tolerations, merges label keys, and refuses what a cluster does not admit.
//
//	pod, changes, err := admission.Admit(pod, objects, admission.Options{}) // from template to pod, all steps below in order
//	err = admission.Refusal(pod, admission.Validate(pod, admission.Options{})) // the pod as its author wrote it; other kinds too
//	err = admission.Refusal(pod, admission.ValidateUpdate(pod, old, admission.Options{}))
//
// The steps:
//
//	pod, err := admission.AdmitPriority(pod, classes)                   // priority and preemption policy of the class
//	pod = admission.MergeLabelKeys(pod)                                 // matchLabelKeys of inter-pod terms
//	pod = admission.WithDefaultSeconds(pod, admission.DefaultSeconds{}) // DefaultTolerationSeconds
//	pod = admission.WithDaemonSet(pod)                                  // only for the pods of a DaemonSet
//
// The rules:
//
//  1. Validate functions return every error of the API server for one part of an object, with the server's texts. Warnings
//     returns the texts that the server prints for pods that it accepts.
//  2. With functions return a copy of an object after one admission plugin or controller. A comment says whether the plugin
//     is on by default.
//  3. Restrict functions and [LimitHardAntiAffinity] return the error with which a plugin refuses an object, nil when the
//     plugin admits it. These plugins are off by default.
//  4. [AdmitPriority], [AdmitPriorityUpdate] and [AdmitPriorityClass] are the plugin Priority, which is on by default.
//
// Units: tolerationSeconds are whole seconds. Cost: O(terms) or O(tolerations), and O(n^2) where a comment says so. The With
// functions copy the object. What all packages promise is said in [github.com/podberth/podberth].
//
// Packages taints and affinity decide what tolerations and terms mean. Runtime classes are in package
// overhead/runtimeclass, spread constraints in package [spread]. Package preemption compares priorities. Package filter reports
// whether scheduling gates hold a pod back.
//
// The package follows Kubernetes v1.37 with default feature gates. The known differences are in docs/fidelity: priority.md,
// taints.md, affinity.md and filter.md.
package admission
